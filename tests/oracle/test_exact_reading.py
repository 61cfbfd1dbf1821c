"""Nothing is rounded before it is proved, whatever holds the numbers."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import linsep
import linsep.check
from checkers_agree import accepts_alone
from fourier_motzkin import kind_of
from linsep import from_json, open_source, separation
from linsep.certificate.canonical import exact_rows, sha256_of
from linsep.errors import DataError
from linsep.sources import ArraySource
from refusals import refused
from thoroughness import examples

BIG = 2**53


LONG = np.finfo(np.longdouble).nmant > 60


def fractions(X):
    """An array of Fractions, which nothing rounds."""
    found = np.empty((len(X), len(X[0])), dtype=object)
    found[:] = [[Fraction(x) for x in row] for row in X]
    return found


def oracle(X, y):
    """The kind of the verdict by elimination of variables in fractions, with an intercept."""
    signs = {label: 2 * k - 1 for k, label in enumerate(sorted(set(y)))}
    return kind_of(
        [[signs[c] * Fraction(x) for x in (*row, 1)] for row, c in zip(X, y, strict=True)]
    )[0]


def decimals(rows):
    with localcontext() as exact:
        exact.prec = 80
        return [[+Decimal(x) for x in row] for row in rows]


DIGITS = "0.123456789012345678901234567"


Y = [0, 1, 0, 1]


FRAME = pd.DataFrame({"whole": np.array([BIG, BIG + 1, BIG, BIG + 1]), "half": 0.5})


CARRIERS = {
    "beside": [[100000000 + c, 2.0**60] for c in Y],
    "ints and floats": [[BIG + c, 0.5] for c in Y],
    "least and most": [[2**64 - 1 - c, -(2**63)] for c in Y],
    "beyond 64 bits": [[2**80 + c, -1] for c in Y],
    "uint64": np.array([[2**64 - 1 - c] for c in Y], dtype=np.uint64),
    "mixed": FRAME,
    "objects": FRAME.astype(object),
    "nullable": FRAME.astype({"whole": "Int64", "half": "Float64"}),
    "boolean": pd.DataFrame({"a": pd.array([c > 0 for c in Y], "boolean"), "b": [BIG + 1] * 4}),
    "arrow frame": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "decimal128": pa.table({"a": pa.array([Decimal(DIGITS + str(c)) for c in Y])}),
    "decimal256": pa.table({"a": pa.array([Decimal("9" * 60 + str(c)) for c in Y])}),
    "decimals": decimals([[DIGITS + f"{c}00"] for c in Y]),
    "thirds and floats": [[Fraction(1, 3), 0.1 + c] for c in Y],
}


if LONG:
    CARRIERS["longdouble"] = np.array([[np.longdouble(1) + np.longdouble(2) ** -60 * c] for c in Y])


def values(X):
    """The numbers as the carrier has them, row by row."""
    if isinstance(X, pa.Table):
        return [list(row.values()) for row in X.to_pylist()]
    if isinstance(X, pd.DataFrame):
        return list(zip(*(X[name].tolist() for name in X), strict=True))
    if isinstance(X, np.ndarray) and X.dtype == np.longdouble:
        return [[Fraction(*x.as_integer_ratio()) for x in row] for row in X]
    return X.tolist() if isinstance(X, np.ndarray) else X


@examples(60)
@given(st.integers(0, 10**9))
def test_verdicts_on_long_numbers_are_those_of_fractions(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    small = rng.integers(-2, 3, (n, d)).tolist()
    y = rng.permutation([0, 1, *rng.integers(0, 2, n - 2).tolist()]).tolist()
    hints = (
        lambda m: BIG + m, lambda m: m / 4, lambda m: Fraction(m, 7), lambda m: 2**70 + m,
        lambda m: Decimal(m) / 8, lambda m: Fraction(1, 3) + Fraction(m, 10**25),
    )  # fmt: skip
    chosen = [hints[k] for k in rng.integers(0, len(hints), d)]
    X = [[hint(m) for hint, m in zip(chosen, row, strict=True)] for row in small]
    verdict = separation(X, y)
    assert verdict.kind == oracle(X, y)
    assert verdict.verify(X, y)
    moved = fractions(X)
    assert verdict.verify(moved, y)
    moved[0, 0] += Fraction(1, 10**40)
    assert not verdict.verify(moved, y)
    assert accepts_alone(verdict.to_json(), np.array(X, dtype=object), np.array(y))


def test_a_cycle_is_checked_on_the_numbers_of_the_carrier():
    X, y = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]), [1, 0, 0, 1]
    cycle = linsep.Perceptron(shuffle=False, max_iter=50).fit(X, y).cycle_
    assert cycle.verify(fractions(X.tolist()), y)
    long = fractions(X.tolist())
    long[0, 0] += Fraction(1, 3)
    assert not cycle.verify(long, y)


# Files.


def test_sources_of_arrays_are_what_they_hold():
    X, y = sp.csr_array([[BIG], [BIG + 1], [BIG + 2]]), [0, 1, 1]
    source = ArraySource(X, y, batch_rows=2)
    verdict = separation(source)
    assert verdict.kind == separation(X, y).kind == "separable"
    assert verdict.verify(source)
    assert verdict.verify(X, y)


TEXTS = {
    "rows.csv": f"a,y\n0.1,0\n{BIG + 1},0\n{BIG + 4},1\n",
    "rows.jsonl": f'{{"a":0.1,"y":0}}\n{{"a":{BIG + 1},"y":0}}\n{{"a":{BIG + 4},"y":1}}\n',
    "rows.svm": f"0 1:0.1\n0 1:{BIG + 1}\n1 1:{BIG + 4}\n",
}


@pytest.mark.parametrize("name", [*TEXTS, "rows.parquet"])
def test_numbers_of_files_are_the_nearest_doubles(name, tmp_path):
    """For linsep and for the small checker, which reads two of these formats."""
    target, path = None if name == "rows.svm" else "y", tmp_path / name
    if name in TEXTS:
        path.write_text(TEXTS[name])
    else:
        numbers = [Decimal(x) for x in ("0.1", BIG + 1, BIG + 4)]
        pq.write_table(pa.table({"a": numbers, "y": [0, 0, 1]}), path)
    source = open_source(path, target=target)
    verdict = separation(source)
    assert verdict.verify(source)
    assert verdict.verify([[0.1], [float(BIG)], [float(BIG + 4)]], [0, 0, 1])
    assert not verdict.verify([[0.1], [BIG + 1], [BIG + 4]], [0, 0, 1])
    if name in ("rows.csv", "rows.svm"):
        assert linsep.check.check(verdict.to_json(), *linsep.check.read(path, target, ()))


def test_numbers_are_those_of_the_carrier():
    for X in CARRIERS.values():
        exact = fractions(values(X))
        assert (fractions(exact_rows(X).tolist()) == exact).all()
        assert sha256_of(X, Y) == sha256_of(exact, Y)
        verdict = separation(X, Y)
        assert verdict.kind == oracle(exact.tolist(), Y) == "separable"
        text = verdict.to_json()
        for rows in (X, exact):
            assert from_json(text).verify(rows, Y)
        rows = [dict(enumerate(row)) for row in exact.tolist()]
        assert linsep.check.check(text, rows, Y, None, exact.shape[1])
        least = exact - exact.min(axis=0)
        assert separation(X, Y, margin="max").margin[1] >= float(least.max()) / 2 * (1 - 1e-12)


def test_what_cannot_be_read_exactly_is_refused():
    for X, code in (
        (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "missing-value"),
        (pd.DataFrame({"a": [1, 2], "b": [1, "2"]}, dtype=object), "not-a-number"),
        ([[Decimal("Infinity")], [1]], "not-finite"),
        ([[Fraction(1, 3**700)], [1]], "overflow"),
        ([[Decimal("-1e1000000000")], [1]], "overflow"),
        ([[1j, 2], [1, 2]], "column-type"),
    ):
        with refused((ValueError, DataError), code):
            separation(X, [0, 1])
