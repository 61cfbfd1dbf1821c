"""Tables of numbers on the pages on Firth's penalty and on wrong labels are those of the code."""

import doctest
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Unpenalized
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from documents import ROOT, run_commands
from linsep import LogisticRegression, suspicious_labels
from linsep.errors import SeparationWarning
from published import ENDOMETRIAL, INFECTIONS

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


PAGE = (ROOT / "docs" / "explanation/firth.md").read_text("utf-8")
X, y = ENDOMETRIAL


def rows_of(start):
    """Return the cells of the table that begins with a line, without its head."""
    lines = PAGE[PAGE.index(start) :].splitlines()[2:]
    lines = lines[: next(i for i, line in enumerate([*lines, ""]) if not line.startswith("|"))]
    return {cells[1].strip(): [cell.strip() for cell in cells[2:-1]] for cells in
            (line.split("|") for line in lines)}  # fmt: skip


NUMBER = re.compile(r"-?(?:inf|\d+(?:\.(\d+))?(?:e-(\d+))?)")


def shows(cell, values):
    """Whether a cell has these numbers, to the digits that it prints."""
    found = list(NUMBER.finditer(cell))
    assert len(found) == len(values), cell
    for number, value in zip(found, values, strict=True):
        digits = len(number[1] or "") + int(number[2] or 0)
        assert float(number[0]) == pytest.approx(value, abs=0.502 * 10.0**-digits), cell


PROGRAMS = rows_of("| program | estimate")


def check(row, estimate, error, ends, p):
    """Compare a row of the table with numbers."""
    for cell, values in zip(PROGRAMS[row], [[estimate], error, ends, [p]], strict=True):
        shows(cell, values)


def test_commands(tmp_path):
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "endometrial.csv", tmp_path / "docs")
    assert run_commands("docs/explanation/firth.md", tmp_path) == 2


def test_the_file_has_the_published_data():
    file = np.loadtxt(ROOT / "docs" / "endometrial.csv", delimiter=",", skiprows=1)
    assert np.array_equal(file, np.column_stack([X, y]))


def test_table_of_programs_has_numbers_of_linsep():
    model = LogisticRegression(penalty="firth").fit(X, y)
    numbers_of = (model.params_[1], [model.standard_errors_[1]], model.confidence_intervals()[1])
    check('linsep, `penalty="firth"`', *numbers_of, model.p_values_[1])
    wald = LogisticRegression(penalty="firth", intervals="wald").fit(X, y)
    numbers_of = (wald.params_[1], [wald.standard_errors_[1]], wald.confidence_intervals()[1])
    check('linsep, `intervals="wald"`', *numbers_of, wald.p_values_[1])
    with pytest.warns(SeparationWarning):
        plain = LogisticRegression(intervals="profile").fit(X, y)
    ends = plain.confidence_intervals()[1]
    check(
        'linsep, no penalty, `intervals="profile"`', plain.params_[1], [], ends,
        plain.p_values_[1],
    )  # fmt: skip


def test_published_numbers_are_those_of_the_packages():
    """As R prints them: logistf(HG ~ NV + PI + EH), brglm2 the same with Wald's p."""
    ends = (0.6097244, 7.85463171)
    check("logistf (R), as published", 2.92927330, [], ends, 9.123668e-03)
    ends = 2.92927330 + np.array([-1, 1]) * 1.959964 * 1.55076
    check("brglm2 (R), as published", 2.92927330, [1.55076], ends, 0.058902)


def test_table_of_infections():
    """test_firth.py compares the same fit with the digits that logistf prints."""
    model = LogisticRegression(penalty="firth").fit(*INFECTIONS)
    table = rows_of("| | linsep | logistf |")
    for i, cells in enumerate(table.values()):
        estimate, ends = [model.params_[i]], model.confidence_intervals()[i]
        for cell, values in zip(
            cells, [estimate, estimate, ends, ends, [model.p_values_[i]]], strict=True
        ):
            shows(cell, values)


def test_table_of_the_simulation(monkeypatch):
    """The function of the page with as many samples as the table says, for the two least sizes."""
    monkeypatch.chdir(ROOT)
    names = {}
    for example in doctest.DocTestParser().get_examples(PAGE):
        if example.source.startswith(("import", "from", "def draw", "def simulate")):
            exec(example.source, names)
    for rows, cells in list(rows_of("| rows | estimates exist").items())[:2]:
        exist, plain, firth = names["simulate"](int(rows), 1000)
        for cell, value in zip(cells, [100 * exist, plain, firth], strict=True):
            shows(cell, [value])


NOISE_PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation/how-far-from-separable.md"
NOISE_LINE = re.compile(r"\| (.*) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|")


def sets():
    """Rows and their right labels, under the names of the page."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    scores = X @ [1, 2, -1]
    yield "200 x 3, normal, separable before", X, (scores > 0).astype(int)
    noisy = (scores + rng.normal(size=200) > 0).astype(int)
    yield "200 x 3, normal, overlapping before", X, noisy
    X, y = load_iris(return_X_y=True)
    yield "iris, versicolor and virginica, 100 x 4", X[50:], y[50:] - 1
    yield "breast cancer, 569 x 30", *load_breast_cancer(return_X_y=True)


def found(X, y, flips, rng):
    """Shares of flipped labels among the first rows of both rankings: as many rows, and twice."""
    flipped = rng.choice(len(y), flips, replace=False)
    noisy = y.copy()
    noisy[flipped] ^= 1
    scores = suspicious_labels(X, noisy, time_limit=10).scores(len(y))
    model = make_pipeline(StandardScaler(), Unpenalized(max_iter=1000))
    every = cross_val_predict(model, X, noisy, cv=5, method="predict_proba")
    given = every[np.arange(len(y)), noisy]
    return [
        np.isin(np.argsort(order, kind="stable")[:k], flipped).sum() / flips
        for order in (-scores, given)
        for k in (flips, 2 * flips)
    ]


def test_planted_noise():
    shown = {name: line for name, *line in NOISE_LINE.findall(NOISE_PAGE.read_text("utf-8"))}
    for name, X, y in sets():
        flips, *wanted = (float(cell) for cell in shown.pop(name))
        rng = np.random.default_rng(1)
        shares = np.mean([found(X, y, int(flips), rng) for _ in range(5)], axis=0)
        # the search ends with its time: on a faster machine it finds more
        assert (shares[:2] > np.subtract(wanted[:2], 0.08)).all(), name
        assert shares[2:] == pytest.approx(wanted[2:], abs=0.011), name
    assert not shown
