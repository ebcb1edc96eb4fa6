"""Messages of a reader as plain data: JSON and arrays of known types, checked before anything is made of them.

A file may take over the process that reads it. Whatever that process then sends, the server takes for numbers and
text: nothing is unpickled, no size is believed, and what does not fit together is refused. What each kind of result
consists of is said in `forms`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pyarrow as pa

LARGEST = 2_000_000_000  # bytes of all arrays: twenty million residents with names
LARGEST_TEXT = 24_000_000  # bytes of JSON: somewhat more than a plan file
MOST_VALUES = 2_000_000  # in JSON: each takes far more memory than it has bytes
DEEPEST = 40  # levels of JSON
MOST_ARRAYS = 400
NUMBERS = {str(kind): kind for kind in (pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.int16())}
TEXTS = {str(kind): kind for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())}
KINDS = {**NUMBERS, **TEXTS, str(pa.bool_()): pa.bool_()}


class AnswerError(RuntimeError):
    """A message that no reader sends by itself."""


class TooMuchError(RuntimeError):
    """A result that is larger than the server takes, with the sentence for whoever waits for it."""


def require(sound: object, otherwise: str) -> None:
    """Refuse a message unless something holds."""
    if not sound:
        raise AnswerError(otherwise)


@dataclass(frozen=True)
class Packed:
    """Data on their way: whatever JSON can say, and arrays by name."""

    about: Any
    arrays: Mapping[str, pa.Array]


def send(connection: Connection, head: Mapping[str, Any], packed: Packed | None = None) -> None:
    """Send a message: a small head, and what is packed.

    Raises
    ------
    TooMuchError
        If it is more than the other end takes; then nothing is sent.
    """
    if packed is None:
        connection.send_bytes(_written(head))
        return
    arrays = {name: _whole(array) for name, array in packed.arrays.items()}
    buffers = {name: array.buffers() for name, array in arrays.items()}
    about = _written(packed.about)
    listed = [
        [name, str(array.type), len(array), [None if part is None else part.size for part in buffers[name]]]
        for name, array in arrays.items()
    ]
    first = _written({**head, "about": len(about), "arrays": listed})
    if max(len(first), len(about)) > LARGEST_TEXT or sum(part.nbytes for part in arrays.values()) > LARGEST:
        msg = "This file holds more than can be handed on. Use fewer rows or columns, or shorter texts."
        raise TooMuchError(msg)
    connection.send_bytes(first)
    connection.send_bytes(about)
    for parts in buffers.values():
        for part in parts:
            if part is not None and part.size:
                connection.send_bytes(part)


def receive(connection: Connection) -> tuple[dict[str, Any], Packed | None]:
    """Receive the head of a message, and what comes with it.

    Raises
    ------
    AnswerError
        If it is anything but data, or its parts do not fit.
    OSError
        If a part is larger than was said, or the other end is gone.
    """
    head = _read(connection.recv_bytes(LARGEST_TEXT))
    require(isinstance(head, dict), "a message without a head")
    if "about" not in head:
        return head, None
    listed = [_Announced.of(entry) for entry in _list(head.pop("arrays", None))]
    total = sum(size or 0 for entry in listed for size in entry.sizes)
    require(total <= LARGEST, "more than any file holds")
    about = _read(_exactly(connection, head.pop("about"), LARGEST_TEXT))
    arrays = {}
    for entry in listed:
        parts = [None if size is None else _exactly(connection, size) for size in entry.sizes]
        arrays[entry.name] = _array(entry, parts)
    return head, Packed(about, arrays)


@dataclass(frozen=True)
class _Announced:
    """An array that is to come: its name, its type, how many values, and the sizes of its buffers."""

    name: str
    kind: str
    length: int
    sizes: list[int | None]

    @classmethod
    def of(cls, entry: Any) -> "_Announced":
        name, kind, length, sizes = _list(entry, 4)
        require(isinstance(name, str) and isinstance(kind, str), "an array without a name")
        require(kind in KINDS, "an array of an unknown type")
        known = [size for size in _list(sizes, 3 if kind in TEXTS else 2) if size is not None]
        sound = all(type(number) is int and 0 <= number <= LARGEST for number in (length, *known))
        require(sound, "an array of no size")
        return cls(name, kind, length, sizes)


def _array(entry: _Announced, parts: list[bytes | None]) -> pa.Array:
    """An array of buffers, each of the size that its values need."""
    kind, length, present = KINDS[entry.kind], entry.length, parts[0]
    require(present is None or len(present) * 8 >= length, "less than was said")
    if entry.kind in TEXTS:
        wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
        offsets = np.frombuffer(parts[1] or b"\0" * 8, np.int64 if wide else np.int32)[: length + 1]
        require(len(offsets) == length + 1, "less than was said")
        inside = (
            offsets[0] >= 0 and offsets[-1] <= len(parts[2] or b"") and bool((np.diff(offsets) >= 0).all())
        )
        require(inside, "text outside of its own memory")
    else:
        require(len(parts[1] or b"") * 8 >= length * kind.bit_width, "less than was said")
    made = pa.Array.from_buffers(
        kind, length, [None if part is None else pa.py_buffer(part) for part in parts]
    )
    try:
        made.validate(full=True)
    except pa.ArrowInvalid as problem:
        msg = "not text"
        raise AnswerError(msg) from problem
    return made


def _exactly(connection: Connection, size: Any, most: int = LARGEST) -> bytes:
    """The next part of a message, which is as large as was said."""
    require(type(size) is int and 0 <= size <= most, "a part of no size")
    content = connection.recv_bytes(size) if size else b""
    require(len(content) == size, "less than was said")
    return content


def _list(value: Any, length: int | None = None) -> list[Any]:
    sound = isinstance(value, list) and len(value) <= MOST_ARRAYS and length in (None, len(value))
    require(sound, "a list of another length")
    return list(value)


def _whole(array: pa.Array) -> pa.Array:
    """The same values, from the beginning of their own memory."""
    a_part = array.offset or array.get_total_buffer_size() > 2 * array.nbytes
    return pa.concat_arrays([array, array[:0]]) if a_part else array


def _written(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number)
    return text.encode("utf-8", "replace")


def _number(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    msg = f"{type(value).__name__} is no plain data"
    raise TypeError(msg)


def _read(text: bytes) -> Any:
    """What JSON says, if it does not take much more memory than text."""
    values = sum(text.count(mark) for mark in (b",", b"[", b"{"))
    require(values <= MOST_VALUES, "more values than any file needs")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        msg = "not JSON"
        raise AnswerError(msg) from problem
    require(not _deeper(value, DEEPEST), "too many levels")
    return value


def _deeper(value: Any, levels: int) -> bool:
    """Whether a value has more levels than so many."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return levels == 0 or any(_deeper(one, levels - 1) for one in value)
