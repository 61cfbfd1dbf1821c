"""Checking that each line of a text is one JSON object, by brackets and quotes alone."""

import numpy as np

from linsep.compiled.core.jit import exact

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
