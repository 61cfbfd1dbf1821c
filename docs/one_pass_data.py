"""Write the reviews of docs/one-pass.md into a folder: ``one_pass_data.py FOLDER MEGABYTES``.

reviews.csv has about so many megabytes, new.csv a tenth of that, at most 2 MB. The words are made
up: a few are frequent and most are rare, as in a language, and each is likelier in reviews of one
of two kinds. One label in fifty is wrong.
"""

import sys
from pathlib import Path

import numpy as np

SEED, WORDS, ROWS = 1958, 30_000, 2_000
CONSONANTS, VOWELS = np.array(list("bdfgklmnprstvz")), np.array(list("aeiou"))


def vocabulary(rng: np.random.Generator) -> np.ndarray:
    """Return different words of two to four syllables."""
    found: dict[str, None] = {}
    while len(found) < WORDS:
        size = rng.integers(2, 5)
        syllables = zip(rng.choice(CONSONANTS, size), rng.choice(VOWELS, size), strict=True)
        found["".join(c + v for c, v in syllables)] = None
    return np.array(list(found))


def write(folder: Path, megabytes: float) -> None:
    """Write the files."""
    rng = np.random.default_rng(SEED)
    words = vocabulary(rng)
    often = 1.0 / np.arange(20, WORDS + 20)
    lean = 0.5 * rng.standard_normal(WORDS)
    cumulative = [np.cumsum(often * np.exp(side * lean)) for side in (-1.0, 1.0)]
    for name, size in (("reviews.csv", 1e6 * megabytes), ("new.csv", 1e5 * min(megabytes, 20))):
        written = 0
        with (folder / name).open("w", encoding="utf-8") as file:
            file.write("liked,review\n")
            while written < size:
                for _ in range(ROWS):
                    liked = int(rng.random() < 0.6)
                    draws = rng.random(rng.integers(10, 80)) * cumulative[liked][-1]
                    text = " ".join(words[np.searchsorted(cumulative[liked], draws)])
                    said = liked if rng.random() > 0.02 else 1 - liked
                    written += file.write(f"{'yes' if said else 'no'},{text}\n")
                    if written >= size:
                        break


if __name__ == "__main__":
    write(Path(sys.argv[1]), float(sys.argv[2]))
