"""A fingerprint of rows and labels, the same however they are stored."""

from hashlib import sha256

import numpy as np
import scipy.sparse as sp

from linsep.theory.data import Data, Piece


def fingerprint(data: Data) -> str:
    """64 hexadecimal digits that say which rows and labels these are, in which order.

    Each row becomes one number, the sum over its columns of the bits of the entry, as a float64,
    times a random odd number of the column, modulo 2^64: zeros add nothing, so dense and sparse
    rows agree. The rows' numbers and the labels are then hashed.
    """
    odd = column_numbers(data)
    digest = sha256(f"{data.n_rows} {data.n_features} {data.labels()}".encode())
    for piece in data.pieces():
        digest.update(row_numbers(piece, odd).tobytes())
        digest.update(piece.codes.astype(np.int64).tobytes())
    return digest.hexdigest()


def column_numbers(data: Data) -> np.ndarray:
    """A random odd number for every column, always the same."""
    drawn = np.random.default_rng(20261121).integers(2**63, size=data.n_features, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def row_numbers(piece: Piece, odd: np.ndarray) -> np.ndarray:
    """The number of every row of a piece: equal rows have equal numbers."""
    X = piece.X
    if sp.issparse(X):
        bits = (X.data.astype(np.float64) + 0.0).view(np.uint64) * odd[X.indices]
        total = np.append(np.uint64(0), np.cumsum(bits, dtype=np.uint64))
        return total[X.indptr[1:]] - total[X.indptr[:-1]]
    bits = (X.astype(np.float64) + 0.0).view(np.uint64)
    return np.einsum("ij,j->i", bits, odd)
