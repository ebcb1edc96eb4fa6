"""Check the blocks of a .osm.pbf file before it is read: complete, and not a decompression bomb."""

from tkm_core.residents import Buffer
from tkm_core.streets.rules import StreetsError

LARGEST_BLOCK = 32 << 20  # bytes, packed or unpacked, by the definition of the format
LARGEST_HEADER = 64 << 10
ALWAYS_FINE = 32 << 20  # unpacked bytes that any file may have
PACKING = 10  # highest compression ratio beyond that; real files have two or three
LARGEST = 1 << 30  # unpacked bytes: an extract of some 400 MB, more than any city
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def check_blocks(data: Buffer, name: str) -> int:
    """Go through all blocks without unpacking them, and add up their unpacked sizes.

    Memory depends on the unpacked size: a node takes as little as three bytes unpacked, and malicious data may be
    packed a thousand times smaller.

    Parameters
    ----------
    data : bytes or mmap
        The file.
    name : str
        What the planner calls it.

    Returns
    -------
    int
        Unpacked bytes of all blocks.
    """
    place, total = 0, 0
    most = min(LARGEST, max(ALWAYS_FINE, PACKING * len(data)))
    while place < len(data):
        try:
            size = int.from_bytes(data[place : place + 4], "big")
            begin = place + 4 + size
            block = _fields(data, place + 4, begin, LARGEST_HEADER)[3]
            total += _fields(data, begin, begin + block, LARGEST_BLOCK).get(2, block)
            place = begin + block
        except (ValueError, KeyError, IndexError) as error:
            msg = (
                f"“{name}” is damaged or incomplete: it breaks off, or makes no sense, after {place:,} of "
                f"{len(data):,} bytes. Download it again."
            )
            raise StreetsError(msg) from error
        if total > most:
            msg = (
                f"“{name}” unpacks to more than {most >> 20:,} MB, which is more than a city. Cut it to your area "
                "first (for instance with osmium extract)."
            )
            raise StreetsError(msg)
    return total


def _fields(data: Buffer, place: int, end: int, most: int) -> dict[int, int]:
    """The numeric fields of a message of limited size; other fields are only checked to fit."""
    if end > len(data) or end - place > most:
        raise ValueError
    numbers = {}
    while place < end:
        key, place = _number(data, place)
        if key & 7 == VARINT:
            numbers[key >> 3], place = _number(data, place)
        elif key & 7 == BYTES:
            length, place = _number(data, place)
            place += length
        elif key & 7 in (FIXED32, FIXED64):
            place += 4 if key & 7 == FIXED32 else 8
        else:
            raise ValueError
    if place != end:
        raise ValueError
    return numbers


def _number(data: Buffer, place: int) -> tuple[int, int]:
    """A variable-length integer, and where it ends."""
    value = 0
    for shift in range(0, 64, 7):
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise ValueError
