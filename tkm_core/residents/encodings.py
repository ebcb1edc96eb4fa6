"""Detect the encoding of a text file, judged by the whole file, and decode it to UTF-8."""

import codecs
import re
import unicodedata
from functools import lru_cache
from itertools import islice

from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import STEP, Buffer
from tkm_core.wording import counted

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# In order of how common they are: the first of equals wins.
CANDIDATES = (
    "cp1252", "cp949", "cp932", "gb18030", "cp1250", "cp1251", "cp850", "big5", "euc_jp", "cp1254", "cp1253",
    "cp866", "koi8_r", "iso8859_2", "mac_roman", "cp1255", "cp1256", "cp874", "iso8859_15", "latin_1",
)  # fmt: skip
FOREIGN = re.compile(rb"[\x80-\xff][^\r\n]{0,60}")
BEFORE = 60  # bytes before a letter beyond ASCII that are sampled with it
SAMPLES = 120
# Delimiters beyond ASCII that some programs use, with the byte of each in Western code pages.
SEPARATORS = {0xAC: "¬", 0xA6: "¦", 0xA7: "§", 0x95: "•"}
LOOKED_AT = 200  # lines searched for such a delimiter
# Letters that languages written in Latin script use often; others of the same code pages are rare.
COMMON = frozenset("äöüßéèêàáçñíóúâîôûëïåøæãõœłąęśżźćńčšžřěůťďňőűğşıțșăđÄÖÜÉÈÀÁÇÑÍÓÚÅØÆŁŚŻČŠŽŘİŞ")
BESIDE = frozenset("°§€£µ²³½·–—’‘“”„…«»®©™№•²±ºª¿¡")


def to_utf8(data: Buffer, name: str, encoding: str | None = None) -> tuple[Buffer, str, list[str]]:
    """Decode a whole file.

    Parameters
    ----------
    data : bytes or mmap
        The file.
    name : str
        For sentences.
    encoding : str, optional
        The encoding, if known; guessed otherwise.

    Returns
    -------
    data : bytes or mmap
        The text in UTF-8, without byte order mark.
    encoding : str
        The encoding of the file.
    warnings : list of str
    """
    if encoding:
        try:
            return _decode(data, codecs.lookup(encoding).name).encode(), encoding, []
        except LookupError as error:
            msg = f"There is no encoding called “{encoding}”. Try utf-8, cp1252, cp949, shift_jis ..."
            raise ResidentsError(msg, needs="encoding") from error
        except (UnicodeError, ValueError) as error:
            msg = f"“{name}” is not in the encoding {encoding}. Leave the choice open, or try another."
            raise ResidentsError(msg, needs="encoding") from error
    for mark, marked in BYTE_ORDER_MARKS:
        if data[: len(mark)] == mark:
            if marked == "utf-8-sig":
                body = data[len(mark) :]
                return (body, marked, []) if _is_utf8(body) else _guess(body, name)
            return _decode(data, marked, "replace").encode(), marked, []
    head = bytes(data[:STEP])
    if b"\0" in head:
        return _without_mark(data, head, name)
    if _is_utf8(data):
        return data, "utf-8", []
    return _guess(data, name)


def _is_utf8(data: Buffer) -> bool:
    """Whether a file is valid UTF-8, decoded block by block."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), 16 * STEP):
            block = bytes(data[start : start + 16 * STEP])
            if not block.isascii() or decoder.getstate()[0]:
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _decode(data: Buffer, encoding: str, errors: str = "strict") -> str:
    """Decode a whole file."""
    return bytes(data).decode(encoding, errors)


def _without_mark(data: Buffer, head: bytes, name: str) -> tuple[Buffer, str, list[str]]:
    """Decode UTF-16 that has no byte order mark, known by its zero bytes; refuse anything else that is binary."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = max(1, len(head) // 2)
    for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros > 0.4 * half and others < 0.05 * half:
            return _decode(data, encoding, "replace").encode(), encoding, []
    msg = f"“{name}” is not a text file, and not in a format that can be read. Export it as CSV or GeoJSON."
    raise ResidentsError(msg)


def _guess(data: Buffer, name: str) -> tuple[Buffer, str, list[str]]:
    """Decode with the encoding in which the letters beyond ASCII look most like words."""
    mark = _separator(bytes(data[:STEP]))
    fitting = [encoding for encoding in CANDIDATES if mark is None or _means(mark, encoding)]
    found = [match.span() for match in islice(FOREIGN.finditer(data), 500 * SAMPLES)]
    lines = [_sample(data, *span) for span in found[:: max(1, len(found) // SAMPLES)]]
    if mark is not None:  # a delimiter is not a letter: it says nothing about the language
        lines = [line.replace(bytes([mark]), b",") for line in lines]
    text = b"\n".join(lines).decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if sum(char > "\x7f" for char in text) - broken > 4 * broken:
        decoded = _decode(data, "utf-8", "replace")
        lost = decoded.count("\ufffd")
        are = "is" if lost == 1 else "are"
        warning = f"{counted(lost, 'character')} of “{name}” {are} not valid UTF-8 and shown as “\ufffd”."
        return decoded.encode(), "utf-8", [warning]
    scores = sorted(((-_score(lines, encoding), rank, encoding) for rank, encoding in enumerate(fitting)))
    for score, _, encoding in scores:
        if score < 0 or mark is not None:
            try:
                return _decode(data, encoding).encode(), encoding, []
            except UnicodeError:
                continue
    best = scores[0][2]
    decoded = _decode(data, best, "replace")
    lost = decoded.count("\ufffd")
    shown = f"{counted(lost, 'character')} {'is' if lost == 1 else 'are'} shown"
    warning = f"No encoding fits all of “{name}”; {best} was taken, and {shown} as “\ufffd”."
    return decoded.encode(), best, [warning]


def _separator(head: bytes) -> int | None:
    """The byte beyond ASCII that stands between the columns: as often in every line, and more so than usual signs."""
    lines = [line for line in head.splitlines()[:-1] or head.splitlines() if line.strip()][:LOOKED_AT]
    if len(lines) < 2:
        return None
    usual = max(lines[0].count(sign) for sign in (b",", b";", b"\t", b"|"))
    for mark in SEPARATORS:
        counts = [line.count(mark) for line in lines]
        if counts[0] > usual and counts.count(counts[0]) > 0.8 * len(lines):
            return mark
    return None


def _means(mark: int, encoding: str) -> bool:
    """Whether a byte stands for its delimiter in an encoding."""
    return bytes([mark]).decode(encoding, "ignore") == SEPARATORS[mark]


def _sample(data: Buffer, start: int, end: int) -> bytes:
    """A letter beyond ASCII with its neighbours in the line."""
    before = bytes(data[max(0, start - BEFORE) : start])
    return before[max(before.rfind(b"\r"), before.rfind(b"\n")) + 1 :] + bytes(data[start:end])


def _score(lines: list[bytes], encoding: str) -> float:
    """How plausible the characters beyond ASCII are as parts of words, on average."""
    total, count = 0.0, 0
    for line in lines:
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError as error:
            # A sample may begin or end within a character.
            if error.start > 3 and error.end < len(line) - 3:
                total, count = total - 2, count + 1
            text = line.decode(encoding, "ignore")
        for place, char in enumerate(text):
            if char > "\x7f":
                total += _plausible(text, place, char, encoding)
                count += 1
    return total / count if count else 0.0


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    """The writing system of a letter; empty for other characters."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:
        return "hangul"
    if 0x3040 <= code <= 0x30FF:
        return "kana"
    if 0x4E00 <= code <= 0x9FFF:
        return "han"
    if not char.isalpha():
        return ""
    return unicodedata.name(char, "unnamed").split()[0].lower()


def _plausible(text: str, place: int, char: str, encoding: str) -> float:
    """How well a character fits between its neighbours: from -2 (impossible in text) to 1."""
    before = text[place - 1] if place else " "
    after = text[place + 1] if place + 1 < len(text) else " "
    script = _script(char)
    near = {_script(before), _script(after)} - {""}
    if script == "hangul":
        return 1.0 if _everyday_hangul(char) else -0.3
    if script in ("kana", "han"):
        return _plausible_han(char, script, near, encoding)
    if script == "latin":
        return _plausible_latin(char, before, after)
    if script in ("cyrillic", "greek", "hebrew", "arabic", "thai", "devanagari"):
        if near and script not in near:
            return -1.0
        return -0.5 if char.isupper() and before.islower() else 0.95
    if "\x80" <= char < "\xa0" or unicodedata.category(char) in ("Co", "Cn", "Cc"):
        return -2.0
    if char in "ºª" and _ordinal(text[:place]):
        return 1.0
    if before.isalpha() and after.isalpha() and char not in "’–·":
        return -1.0
    return 0.3 if char in BESIDE or char in "　、。「」（）～・ー－" else -0.3


def _ordinal(before: str) -> bool:
    """Whether º or ª makes sense after a text, as in "12º", "1ª", "nº" and "Mª"."""
    last, word = before[-1:], before[-2:-1]
    return last.isdigit() or (last in ("n", "N", "M") and not word.isalpha())


@lru_cache(maxsize=4096)
def _everyday_hangul(char: str) -> bool:
    """Whether a syllable is one of the 2,350 of the older standard; the other 8,822 hardly occur."""
    return len(char.encode("euc_kr", "ignore")) == 2


def _plausible_han(char: str, script: str, near: set[str], encoding: str) -> float:
    """How plausible a Chinese or Japanese character is: the encodings list common ones first."""
    if "hangul" in near or near - {"kana", "han", "latin", "fullwidth"}:
        return -0.5
    if script == "kana":
        return 1.0 if encoding in ("cp932", "euc_jp") else 0.0
    level_one = {"gb18030": (0xB0, 0xD7), "big5": (0xA4, 0xC6), "cp932": (0x88, 0x97), "euc_jp": (0xB0, 0xCF)}
    lead = char.encode(encoding, "replace")[0]
    low, high = level_one.get(encoding, (1, 0))
    return 0.9 if low <= lead <= high else 0.0


def _plausible_latin(char: str, before: str, after: str) -> float:
    """How plausible an accented letter is between its neighbours."""
    if "FULLWIDTH" in unicodedata.name(char, ""):
        return 0.3
    if char.isupper() and before.islower():
        return -0.5
    if char.islower() and before.isupper() and after.isupper():
        return -0.5
    if before > "\x7f" and after > "\x7f":  # no language in Latin script has three accented letters in a row
        return -1.0
    return 1.0 if char in COMMON else 0.6
