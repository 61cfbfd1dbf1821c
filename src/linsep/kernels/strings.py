"""Kernels on strings: lists of str, compared by code points, or of bytes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations, product, repeat
from math import comb
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from linsep._system.threads import split_rows
from linsep.compiled.kernels import subsequences
from linsep.errors import ParameterError
from linsep.kernels.base import BeyondFloats, Kernel, number
from linsep.kernels.counting import count_products, squares
from linsep.kernels.exact import Ratio, weighted_counts
from linsep.kernels.letters import (
    MOST_CODES,
    Counts,
    Grams,
    Letters,
    alphabet,
    as_strings,
    counted,
    distinct,
    letters_of,
    same_kind,
)
from linsep.kernels.rows import Parts

#: most ways to change letters that Mismatch tries
MOST_CHANGES = 1 << 22


class OnStrings(Kernel):
    """Base class of kernels that compare parts of p letters."""

    takes: ClassVar[str] = "strings"
    sparse: ClassVar[bool] = False
    advice: ClassVar[str] = "take shorter strings or a smaller p"
    p: int

    def _fitted(self, X: Any) -> Kernel:
        longest = int(letters_of(X, self).lengths.max())
        if longest < self.p:
            warnings.warn(
                f"{self!r} finds nothing in these strings, the longest of which has {longest} "
                "letters: lower p.",
                stacklevel=3,
            )
        return self

    def _exact(self, X: Any) -> Ratio | None:
        found = self.counts(self.prepare(X))
        return None if found is None else weighted_counts(found)


class OnCounts(OnStrings):
    """Base class of kernels that are products of counts."""

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        return count_products(A, B)

    def _diagonal(self, A: Any) -> np.ndarray:
        return squares(A.matrix)

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the substrings in prepared strings, their counts, and weights of 1."""
        return A.grams.names, A.matrix, np.ones(len(A.grams.names))


@dataclass(frozen=True)
class Spectrum(OnCounts):
    """The number of common substrings of length p, counted with multiplicity.

    K(x, y) is the sum over all strings u of length p of (count of u in x) * (count of u in y).

    Parameters
    ----------
    p : whole number of at least 1
        K is 0 for strings of fewer letters.

    References
    ----------
    C. Leslie, E. Eskin and W. S. Noble, The spectrum kernel, PSB 2002, section 2.
    """

    p: int

    def __post_init__(self) -> None:
        number(self, "p", 1, whole=True)

    def _prepare(self, X: Any) -> Any:
        matrix, grams = counted(letters_of(X, self), self.p)
        return Counts(matrix, Grams(as_strings(grams)))


@dataclass(frozen=True)
class BlendedSpectrum(OnStrings):
    """Common substrings of every length up to p: the sum of ``weights[q-1] * Spectrum(q)``.

    Parameters
    ----------
    p : whole number of at least 1
    weights : p numbers above 0, for lengths 1 to p; default 1 each

    References
    ----------
    J. Shawe-Taylor and N. Cristianini, Kernel Methods for Pattern Analysis (2004), section 11.2.
    """

    p: int
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        number(self, "p", 1, whole=True)
        if self.weights is None:
            return
        try:
            weights = tuple(float(weight) for weight in self.weights)
        except (TypeError, ValueError):
            weights = ()
        if len(weights) != self.p or not all(0 < weight < np.inf for weight in weights):
            raise ParameterError(
                f"weights of BlendedSpectrum must be {self.p} numbers above 0, one for every "
                f"length up to p, not {self.weights!r}."
            )
        object.__setattr__(self, "weights", weights)

    def _fitted(self, X: Any) -> Kernel:
        return self

    def _prepare(self, X: Any) -> Any:
        rows = letters_of(X, self)
        longest = int(rows.lengths.max(initial=0))  # longer substrings do not occur
        each = [counted(rows, q) for q in range(1, min(self.p, max(1, longest)) + 1)]
        return Parts(*(Counts(matrix, Grams(as_strings(grams))) for matrix, grams in each))

    def _gram(self, A: Any, B: Any) -> np.ndarray:
        K = np.zeros((len(A), len(B)))
        for weight, a, b in zip(self._weights, A.parts, B.parts, strict=False):
            K += weight * count_products(a, a if A is B else b)
        return K

    def _diagonal(self, A: Any) -> np.ndarray:
        found = np.zeros(len(A))
        for weight, a in zip(self._weights, A.parts, strict=False):
            found += weight * squares(a.matrix)
        return found

    def counts(self, A: Any) -> tuple[np.ndarray, Any, np.ndarray]:
        """Return the substrings in prepared strings, their counts, and the weights by length."""
        names = [part.grams.names for part in A.parts]
        weights = [np.full(len(own), w) for own, w in zip(names, self._weights, strict=False)]
        matrix = sp.hstack([part.matrix for part in A.parts], format="csr")
        return np.concatenate(names), matrix, np.concatenate(weights)

    @property
    def _weights(self) -> Iterable[float]:
        return repeat(1.0) if self.weights is None else self.weights


@dataclass(frozen=True)
class Mismatch(OnCounts):
    """The number of common substrings of length p with up to ``mismatches`` changed letters.

    A substring of x counts for every string of p letters obtained by changing at most
    ``mismatches`` of its letters to others of the alphabet; K(x, y) is the product of these counts.
    A letter outside the alphabet may be changed, but no letter is changed to it.

    Parameters
    ----------
    p : whole number of at least 1
    mismatches : whole number of at least 0, below p
    alphabet : str or bytes, default None
        The letters. None takes those of the training strings.

    Notes
    -----
    Each substring becomes sum_r binom(p, r) (letters - 1)^r others, r up to ``mismatches``: 106 for
    p=5 with 1 of 4 letters to change, 3,706 with 2 of 20.

    References
    ----------
    C. Leslie, E. Eskin, A. Cohen, J. Weston and W. S. Noble, Mismatch string kernels for
    discriminative protein classification, Bioinformatics 20 (2004), section 2.
    """

    p: int
    mismatches: int = 1
    alphabet: str | bytes | None = None

    def __post_init__(self) -> None:
        number(self, "p", 1, whole=True)
        number(self, "mismatches", 0, whole=True)
        if self.mismatches >= self.p:
            raise ParameterError(
                f"Mismatch with p={self.p} and mismatches={self.mismatches} finds any string equal "
                "to any: take fewer mismatches than p."
            )
        if self.alphabet is not None and not (
            isinstance(self.alphabet, str | bytes) and len(self.alphabet)
        ):
            raise ParameterError(
                f"alphabet of Mismatch must be a string of letters, not {self.alphabet!r}."
            )

    def _fitted(self, X: Any) -> Kernel:
        super()._fitted(X)
        if self.alphabet is not None:
            return self
        text = letters_of(X, self).text
        letters = alphabet(text).tobytes() or b"\0" * text.itemsize
        plain = letters if text.itemsize == 1 else letters.decode("utf-32-le", "surrogatepass")
        return replace(self, alphabet=plain)

    def _prepare(self, X: Any) -> Any:
        if self.alphabet is None:
            raise ParameterError(
                "Mismatch without an alphabet needs strings to learn from: take the kernel that "
                "fitted(X) returns, or give the alphabet."
            )
        rows = letters_of(X, self)
        own = letters_of([self.alphabet], self).text
        same_kind(own, rows.text)
        matrix, grams = counted(rows, self.p)
        return _neighbours(matrix, grams, np.unique(own), self.mismatches)


def _neighbours(matrix: sp.csr_array, grams: np.ndarray, own: np.ndarray, most: int) -> Counts:
    """Return counts of the strings that differ from substrings in at most ``most`` letters, changed
    to ``own`` ones.
    """
    foreign = np.setdiff1d(alphabet(grams.ravel()), own)
    letters, p = np.concatenate([own, foreign]), grams.shape[1]
    if len(letters) ** p >= MOST_CODES:
        raise ParameterError(
            f"Mismatch with p={p} over {len(letters)} letters has more substrings than there are "
            "numbers for: lower p."
        )
    changes = sum(comb(p, count) * len(own) ** count for count in range(most + 1))
    if changes > MOST_CHANGES:
        raise ParameterError(
            f"Mismatch with p={p} and mismatches={most} changes letters in {changes:,} ways: take "
            "fewer mismatches or a smaller p."
        )
    order = np.argsort(letters)
    digits = order[np.searchsorted(letters[order], grams)].astype(np.int64)
    worth = len(letters) ** np.arange(p - 1, -1, -1, dtype=np.int64)
    codes, rows, found = digits @ worth, [], []
    for count in range(most + 1):
        for chosen in combinations(range(p), count):
            places = np.array(chosen, np.int64)
            for new in product(range(len(own)), repeat=count):
                here = np.flatnonzero((digits[:, places] != new).all(axis=1))
                old = digits[here][:, places]
                rows.append(here)
                found.append(codes[here] + (np.array(new, np.int64) - old) @ worth[places])
    every = np.concatenate(found)
    columns, n = distinct(every, len(letters) ** p)
    values = np.zeros(n, dtype=np.int64)
    values[columns] = every
    near = sp.csr_array((np.ones(len(columns)), (np.concatenate(rows), columns)), (len(grams), n))
    # Letters outside the alphabet get the highest digits.
    names = as_strings(letters[values[:, None] // worth % len(letters)])
    order = np.argsort(names)
    return Counts((matrix @ near)[:, order], Grams(names[order]))


@dataclass(frozen=True)
class Subsequence(BeyondFloats, OnStrings):
    """Common subsequences of length p, gaps allowed, each weighted by ``decay`` to its extent.

    K(x, y) is the sum, over all strings u of length p and all occurrences of u with gaps in x and
    in y, of decay^(extent in x + extent in y); the extent is the number of letters from the first
    to the last.

    Parameters
    ----------
    p : whole number of at least 1
    decay : number above 0, at most 1, default 0.5

    Notes
    -----
    The time is proportional to p times the product of the lengths of both strings.

    References
    ----------
    H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini and C. Watkins, Text classification using
    string kernels, JMLR 2 (2002), definitions 1 and 2.
    """

    p: int
    decay: float = 0.5

    def __post_init__(self) -> None:
        number(self, "p", 1, whole=True)
        number(self, "decay")
        if self.decay > 1:
            raise ParameterError(f"decay of Subsequence must be at most 1, not {self.decay!r}.")

    def _prepare(self, X: Any) -> Any:
        return letters_of(X, self)

    def scaled_gram(self, A: Letters, B: Letters) -> tuple[np.ndarray, np.ndarray]:
        """Return every value m 2^e as (m, e), float64 arrays of shape (rows of A, rows of B)."""
        same_kind(A.text, B.text)
        mantissas, exponents = np.zeros((len(A), len(B))), np.zeros((len(A), len(B)))
        if self.p > min(int(one.lengths.max(initial=0)) for one in (A, B)):
            return mantissas, exponents
        sides = [(rows.text, rows.begins, rows.ends) for rows in (A, B)]
        how = (*sides, int(self.p), float(self.decay))
        cost = float(A.lengths.sum()) * float(B.lengths.sum()) * self.p

        def work(start: int, stop: int) -> None:
            subsequences(*how, start, stop, A is B, mantissas, exponents)

        split_rows(work, len(A), cost)
        if A is B:
            for values in (mantissas, exponents):
                for i in range(len(A)):
                    values[i + 1 :, i] = values[i, i + 1 :]
        return self._weighted(mantissas, exponents)

    def scaled_diagonal(self, A: Letters) -> tuple[np.ndarray, np.ndarray]:
        """Return K(a, a) of every string as (m, e), two arrays of shape (rows,)."""
        mantissas, exponents = np.zeros((len(A), 1)), np.zeros((len(A), 1))
        if self.p > int(A.lengths.max(initial=0)):
            return mantissas[:, 0], exponents[:, 0]

        def work(start: int, stop: int) -> None:
            for i in range(start, stop):
                one = A.text, A.begins[i : i + 1], A.ends[i : i + 1]
                places = mantissas[i : i + 1], exponents[i : i + 1]
                subsequences(one, one, int(self.p), float(self.decay), 0, 1, False, *places)

        split_rows(work, len(A), float((A.lengths.astype(float) ** 2).sum() * self.p))
        return self._weighted(mantissas[:, 0], exponents[:, 0])

    def _weighted(self, mantissas: np.ndarray, exponents: np.ndarray) -> tuple:
        """Multiply by decay^(2p), which is left out of the sums to avoid underflow."""
        whole, part = divmod(2 * self.p * np.log2(self.decay), 1)
        return mantissas * 2.0**part, exponents + whole
