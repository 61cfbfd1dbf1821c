"""What Python says about every code point: its lower case, and whether it is a letter or blank."""

import re
from functools import cache

import numpy as np

from linsep.compiled.text_cutting import BLANK, LETTER

#: their lower case is two characters, or depends on the letters around them
SPECIAL = "\u0130\u03a3"
_ALL = 0x110000
_SURROGATES = range(0xD800, 0xE000)


@cache
def table(lowercase: bool) -> np.ndarray:
    r"""Return one number for each code point, int32: four times its lower case (or itself), plus
    LETTER if ``\w`` matches that, or BLANK if ``\s`` does.

    Code points of :data:`SPECIAL` stand for themselves; the caller must lower-case them before.
    """
    points = np.arange(_ALL, dtype=np.int32)
    text = "".join(map(chr, range(_ALL)))
    kinds = np.zeros(_ALL, np.int32)
    for kind, pattern in ((LETTER, r"\w+"), (BLANK, r"\s+")):
        for found in re.finditer(pattern, text):
            kinds[found.start() : found.end()] = kind
    lower = points
    if lowercase:
        plain = text.translate(dict.fromkeys(map(ord, SPECIAL), "\0"))
        lowered = plain.lower().encode("utf-32-le", "surrogatepass")
        lower = np.frombuffer(lowered, np.int32).copy()
        for special in map(ord, SPECIAL):
            lower[special] = special
    return 4 * lower + kinds[lower]
