"""Structures in Thrift's compact protocol, as Parquet's footers and page headers are.

Arrow's own objects of the parts of a footer end the process where the footer is damaged.
"""

from typing import Any

#: deeper structures are damaged ones
_DEEPEST = 16
_STOP, _TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _TEXT = 0, 1, 2, 3, (4, 5, 6), 7, 8
_LISTS, _MAP, _STRUCT, _UUID = (9, 10), 11, 12, 13


def read_struct(data: bytes, at: int = 0, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Return the fields of a structure by their numbers, and where it ends.

    Integers, lists and structures keep their values; everything else becomes None.

    Raises
    ------
    LookupError, ValueError
        If there is no structure.
    """
    found: dict[int, Any] = {}
    field = 0
    while data[at] != _STOP:
        kind, step, at = data[at] & 15, data[at] >> 4, at + 1
        if step:
            field += step
        else:
            field, at = _integer(data, at)
        if kind in {_TRUE, _FALSE}:  # the kind is the value
            found[field] = None
        else:
            found[field], at = _value(data, at, kind, depth)
    return found, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise ValueError("values in values without end")
    if kind in _INTEGERS:
        return _integer(data, at)
    if kind == _STRUCT:
        return read_struct(data, at, depth + 1)
    if kind in _LISTS:
        return _list(data, at, depth)
    if kind == _TEXT:
        length, at = _varint(data, at)
        return None, _inside(data, at + length)
    if kind == _MAP:
        return None, _after_map(data, at, depth)
    sizes = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
    return None, _inside(data, at + sizes[kind])


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    kind, count, at = data[at] & 15, data[at] >> 4, at + 1
    if count == 15:
        count, at = _varint(data, at)
    values = []
    for _ in range(_inside(data, count)):  # each takes a byte at least
        value, at = _value(data, at, kind, depth + 1)
        values.append(value)
    return values, at


def _after_map(data: bytes, at: int, depth: int) -> int:
    count, at = _varint(data, at)
    if count:
        kinds, at = data[at], at + 1
        for _ in range(_inside(data, count)):
            for kind in (kinds >> 4, kinds & 15):
                _, at = _value(data, at, kind, depth + 1)
    return at


def _inside(data: bytes, at: int) -> int:
    if at > len(data):
        raise IndexError("beyond the end")
    return at


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """Return a signed integer in zigzag form, and where it ends."""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer in groups of seven bits, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("no end of an integer")
