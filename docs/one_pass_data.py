"""Write the reviews of docs/how-to/one-pass.md: ``one_pass_data.py FOLDER MEGABYTES``.

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


def lines(rng: np.random.Generator, words: np.ndarray, cumulative: np.ndarray) -> list[str]:
    """Return rows; ``cumulative`` are the weights of the words in each kind, added up."""
    liked, sizes = (rng.random(ROWS) < 0.6).astype(int), rng.integers(10, 80, ROWS)
    kinds, draws = np.repeat(liked, sizes), rng.random(sizes.sum())
    drawn = np.empty(draws.size, dtype=np.int64)
    for kind, ends in enumerate(cumulative):
        of_kind = kinds == kind
        drawn[of_kind] = np.searchsorted(ends, draws[of_kind] * ends[-1])
    said = np.where(rng.random(ROWS) < 0.98, liked, 1 - liked)
    found, texts, start = [], words[drawn].tolist(), 0
    for kind, size in zip(said.tolist(), sizes.tolist(), strict=True):
        found.append(f"{'yes' if kind else 'no'},{' '.join(texts[start : start + size])}\n")
        start += size
    return found


def write(folder: Path, megabytes: float) -> None:
    """Write the files."""
    rng = np.random.default_rng(SEED)
    words = vocabulary(rng)
    lean = 0.5 * rng.standard_normal(WORDS)
    often = np.exp([-lean, lean]) / np.arange(20, WORDS + 20)
    cumulative = often.cumsum(axis=1)
    for name, size in (("reviews.csv", 1e6 * megabytes), ("new.csv", 1e5 * min(megabytes, 20))):
        written = 0
        with (folder / name).open("w", encoding="utf-8") as file:
            file.write("liked,review\n")
            while written < size:
                for line in lines(rng, words, cumulative):
                    written += file.write(line)
                    if written >= size:
                        break


if __name__ == "__main__":
    write(Path(sys.argv[1]), float(sys.argv[2]))
