"""Refuse well-known binary that is nested too deeply, before GEOS recurses into it."""

import struct

DEEPEST = 64  # levels of nested shapes; a multipolygon in a collection has 2
SHALLOW = 9 * DEEPEST  # bytes: a shorter shape cannot be nested more deeply
POINT, PATHS, OUTLINES = 1, (2, 8, 13), (3, 17)
MADE_OF_SHAPES = (4, 5, 6, 7, 9, 10, 11, 12, 15, 16)
HAS_HEIGHT, HAS_MEASURE, HAS_SYSTEM = 0x80000000, 0x40000000, 0x20000000


def is_nested(value: bytes) -> bool:
    """Whether a shape in well-known binary is nested deeper than any map needs.

    Examples
    --------
    >>> collection = struct.pack("<BII", 1, 7, 1)
    >>> is_nested(collection * 2 + struct.pack("<BIdd", 1, 1, 2.0, 48.0)), is_nested(collection * 100)
    (False, True)
    """
    if len(value) <= SHALLOW:
        return False
    try:
        return _walk(value)
    except struct.error:  # truncated or not well-known binary: GEOS refuses it without recursing
        return False


def _walk(value: bytes) -> bool:
    """Follow the shapes in the order GEOS reads them, counting how many are left at each level."""
    place, order, left = 0, "<", [1]
    while left:
        if left[-1] == 0:
            left.pop()
            continue
        left[-1] -= 1
        mark = struct.unpack_from("B", value, place)[0]
        order = {0: ">", 1: "<"}.get(mark, order)
        code = struct.unpack_from(f"{order}I", value, place + 1)[0]
        more, kind = divmod(code & 0xFFFF, 1000)
        axes = 2 + (bool(code & HAS_HEIGHT) or more in (1, 3)) + (bool(code & HAS_MEASURE) or more in (2, 3))
        place += 9 if code & HAS_SYSTEM else 5
        if kind == POINT:
            place += 8 * axes
            continue
        count = struct.unpack_from(f"{order}I", value, place)[0]
        place += 4
        if kind in MADE_OF_SHAPES:
            left.append(count)
            if len(left) > DEEPEST:
                return True
        elif kind in PATHS:
            place += 8 * axes * count
        elif kind in OUTLINES:
            for _ in range(count):
                place += 4 + 8 * axes * struct.unpack_from(f"{order}I", value, place)[0]
        else:
            return False
    return False
