"""Parse numbers as people write them: decimal commas, thousands, signs, units, degrees and minutes."""

import re
import unicodedata
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tkm_core.arrays import Floats

PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
COMMA = r"^[+-]?(\d+(,\d*)?|,\d+)$"
GROUPED_BY_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
GROUPED_BY_DOT = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
SIGNS = str.maketrans(
    {"−": "-", "–": "-", "＋": "+", "’": "'", "′": "'", "″": '"', "“": '"', "”": '"', "º": "°", "˚": "°"}
)
SEXAGESIMAL = re.compile(
    r"(?P<sign>[+-]?)(?P<d>\d+(?:\.\d+)?)\s*[°d:]\s*(?:(?P<m>\d+(?:\.\d+)?)\s*['m:]\s*)?(?:(?P<s>\d+(?:\.\d+)?)\s*(?:\"|''|s)?)?"
)
HEMISPHERE = re.compile(r"(?:^|(?<=[\d\s°'\"]))([NSEW])(?=$|[\s\d+-])", re.IGNORECASE)
NUMBER = re.compile(r"[+-]?(?:\d[\d' \u00a0\u202f\u2009]*(?:[.,]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?")
LONGEST = 200  # characters: no number is longer, and normalising long runs of accents is very slow
UNIT = re.compile(r"[^\d.,+-]{0,20}")


def guess_decimal(samples: Iterable[str]) -> str | None:
    """Whether values use a decimal comma (","), a point ("."), or leave it open (None).

    Examples
    --------
    >>> guess_decimal(["6,091499", "10,2"]), guess_decimal(["1,250", "12,000"]), guess_decimal(["6.09"])
    (',', None, '.')
    """
    point = False
    for sample in samples:
        text = sample.strip()
        if GROUPED_BY_DOT.fullmatch(text):
            if "," in text:
                return ","
        elif GROUPED_BY_COMMA.fullmatch(text):
            point = point or "." in text
        elif DECIMAL_COMMA.fullmatch(text):
            return ","
        else:
            point = point or bool(re.fullmatch(r"[+-]?\d*\.\d+", text))
    return "." if point else None


def read_number(text: str, decimal: str = ".") -> float:
    r"""Read one number, with units or signs around it; NaN if there is none.

    Examples
    --------
    >>> read_number("16人"), read_number("+32.46"), read_number("1.234,5"), read_number("12'500")
    (16.0, 32.46, 1234.5, 12500.0)
    >>> read_number("1.200"), read_number("1.200", ","), read_number("48.85", ",")
    (1.2, 1200.0, 48.85)
    >>> read_number("48°51'24\"N"), read_number("122.5 W"), read_number("none")
    (48.85666666666667, -122.5, nan)
    """
    if len(text) > LONGEST:
        return float("nan")
    text = unicodedata.normalize("NFKC", text.translate(SIGNS)).translate(SIGNS).strip()
    sign = 1.0
    if hemisphere := HEMISPHERE.search(text):
        sign = -1.0 if hemisphere[1].upper() in "SW" else 1.0
        text = (text[: hemisphere.start()] + text[hemisphere.end() :]).strip()
    if found := SEXAGESIMAL.fullmatch(text.replace(",", ".") if text.count(",") == 1 else text):
        degrees = float(found["d"]) + float(found["m"] or 0) / 60 + float(found["s"] or 0) / 3600
        return -sign * degrees if found["sign"] == "-" else sign * degrees
    found = NUMBER.match(text)
    if not found or not UNIT.fullmatch(text[found.end() :]):
        return float("nan")
    digits = re.sub(r"[' \u00a0\u202f\u2009]", "", found[0])
    if "," in digits and "." in digits:
        decimal = max(",.", key=digits.rfind)
    elif digits.count(".") > 1 or digits.count(",") > 1:
        decimal = "," if "." in digits else "."
    elif "." in digits:
        decimal = "," if decimal == "," and GROUPED_BY_DOT.fullmatch(digits) else "."
    elif "," in digits and not GROUPED_BY_COMMA.fullmatch(digits):
        decimal = ","
    digits = digits.replace("." if decimal == "," else ",", "").replace(",", ".")
    try:
        return sign * float(digits)
    except ValueError:
        return float("nan")


def to_numbers(values: pa.ChunkedArray | pa.Array, decimal: str = ".") -> Floats:
    """Turn a column into floats; values that are not numbers become NaN.

    Examples
    --------
    >>> to_numbers(pa.array(["6,5", "7", None, "x"]), ",")
    array([6.5, 7. , nan, nan])
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = pc.cast(values, kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _floats(pc.cast(values, pa.float64(), safe=False))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return np.full(len(values), np.nan)
    if decimal == ".":
        try:  # the common case, in one pass
            return _floats(pc.cast(values, pa.float64()))
        except pa.ArrowInvalid:
            pass
    text = pc.utf8_trim_whitespace(values)
    plain = pc.fill_null(pc.match_substring_regex(text, COMMA if decimal == "," else PLAIN), fill_value=False)
    numbers = pc.replace_substring(text, ",", ".") if decimal == "," else text
    out = _floats(pc.cast(pc.if_else(plain, numbers, None), pa.float64()))
    rest = pc.and_(
        pc.invert(plain), pc.fill_null(pc.match_substring_regex(text, r"\p{Nd}"), fill_value=False)
    )
    if pc.any(rest).as_py():
        coded = (
            pc.filter(text, rest).combine_chunks()
            if isinstance(text, pa.ChunkedArray)
            else pc.filter(text, rest)
        )
        coded = pc.dictionary_encode(coded)
        known = np.array([read_number(value, decimal) for value in coded.dictionary.to_pylist()])
        out[np.asarray(rest)] = known[np.asarray(coded.indices)]
    return out


def _floats(values: pa.ChunkedArray | pa.Array) -> Floats:
    """An Arrow column as a float64 array of its own."""
    return np.array(
        values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy(),
        dtype=np.float64,
    )
