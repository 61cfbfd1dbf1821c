"""Checking that each line of a text is one JSON object, by brackets and quotes alone; the names of
fields.
"""

import numpy as np

from linsep.compiled.jit import exact, inlined

#: outcomes of a check
FINE, NOT_ONE_OBJECT, TOO_DEEP = 0, 1, 2

# Meaning of a byte outside strings; any other byte may only occur within an object.
OTHER, BLANK, LINE_END, QUOTE, OPEN, CLOSE, LIST = range(7)
MEANING = np.zeros(256, np.uint8)
for _kind, _bytes in (
    (BLANK, b" \t"), (LINE_END, b"\n\r"), (QUOTE, b'"'), (OPEN, b"{"), (CLOSE, b"}]"), (LIST, b"["),
):  # fmt: skip
    MEANING[list(_bytes)] = _kind
NEWLINE, RETURN, STRING_END, ESCAPE = ord("\n"), ord("\r"), ord('"'), ord("\\")
# Meaning of a byte outside strings, for those who look for names of fields.
COMMA = 7
PART = np.zeros(256, np.uint8)
for _kind, _bytes in ((QUOTE, b'"'), (OPEN, b"{["), (CLOSE, b"}]"), (COMMA, b",")):
    PART[list(_bytes)] = _kind
# FNV-1a, the hash of names, with as many bits as can be multiplied without overflow
START, FACTOR, BITS = np.uint64(0x811C9DC5), np.uint64(0x1000193), np.uint64((1 << 39) - 1)


@exact
def look_at_lines(text, size, most_depth):
    """Check the lines of ``text[:size]``; return the outcome and its position.

    A line must be blank or one object whose brackets close on it, nested at most ``most_depth``
    deep. The rest is checked by a JSON parser, which deeper nesting would crash.
    """
    depth, ended, at = 0, False, 0
    while at < size:
        meaning = MEANING[text[at]]
        if meaning == OTHER:
            if depth == 0:
                return NOT_ONE_OBJECT, at
        elif meaning == QUOTE:
            if depth == 0:
                return NOT_ONE_OBJECT, at
            at += 1
            while at < size and text[at] != STRING_END:
                if text[at] == NEWLINE or text[at] == RETURN:
                    return NOT_ONE_OBJECT, at - 1
                at += 2 if text[at] == ESCAPE else 1
        elif meaning in (OPEN, LIST):
            if depth == 0 and (ended or meaning == LIST):
                return NOT_ONE_OBJECT, at
            depth += 1
            if depth > most_depth:
                return TOO_DEEP, at
        elif meaning == CLOSE:
            depth -= 1
            if depth < 0:
                return NOT_ONE_OBJECT, at
            ended = depth == 0
        elif meaning == LINE_END:
            if depth > 0:
                return NOT_ONE_OBJECT, at - 1
            ended = False
        at += 1
    return (FINE if depth == 0 else NOT_ONE_OBJECT), size - 1


@exact
def next_field(text, at, size, known):
    """Return the position of the next field name after ``at`` with an unknown hash.

    ``text[:size]`` has passed :func:`look_at_lines`, and ``at`` is the beginning of a line. Returns
    ``size`` if there is none. Fields are expected in the order of ``known``.
    """
    depth, named, expected = 0, False, 0
    while at < size:
        meaning = PART[text[at]]
        if meaning == QUOTE:
            begin = at + 1
            at = _string_end(text, begin)
            if named:
                named, expected = False, _place(known, _hash(text, begin, at), expected)
                if expected < 0:
                    return begin
        elif meaning == OPEN:
            depth += 1
            named = depth == 1
            expected = expected if depth > 1 else 0
        elif meaning == CLOSE:
            depth -= 1
        elif meaning == COMMA:
            named = depth == 1
        at += 1
    return size


@inlined
def _string_end(text, at):
    """Return the position of the quote that closes a string."""
    while text[at] != STRING_END:
        at += 2 if text[at] == ESCAPE else 1
    return at


@inlined
def _hash(text, at, end):
    h = START
    while at < end:
        h = ((h ^ np.uint64(text[at])) * FACTOR) & BITS
        at += 1
    return h


@inlined
def _place(known, h, expected):
    """Return the position after ``h`` in ``known``, searched from ``expected`` on; -1 if it is not
    there.
    """
    for step in range(known.size):
        place = (expected + step) % known.size
        if known[place] == h:
            return place + 1
    return -1
