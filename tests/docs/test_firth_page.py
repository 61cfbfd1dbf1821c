"""docs/explanation/firth.md is true, also of other programs."""

import doctest
import re
import shutil
import warnings

import numpy as np
import pytest

from documents import ROOT, run_commands, run_python
from linsep import LogisticRegression, separation
from linsep.errors import SeparationWarning
from published import ENDOMETRIAL, INFECTIONS

pytestmark = pytest.mark.compiled
PAGE = (ROOT / "docs" / "explanation/firth.md").read_text("utf-8")
X, y = ENDOMETRIAL
GAPS = [10.0**-k for k in range(3, 13)]


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


def test_python(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert run_python("docs/explanation/firth.md") > 20


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


def plane(gap):
    """Rows of two classes on the sides of a plane, and a pair across it, ``gap`` apart."""
    rng = np.random.default_rng(1)
    rows, normal = rng.standard_normal((40, 3)), np.array([1, 2, -1]) / np.sqrt(6)
    on = rows[0] - (rows[0] @ normal) * normal
    pair = [on + gap / 2 * normal, on - gap / 2 * normal]
    return np.vstack([rows, *pair]), np.append(rows @ normal > 0, [False, True]).astype(int)


def line(gap):
    x = np.array([-3, -2, -1, gap / 2, -gap / 2, 1, 2, 3])
    return x[:, None], np.repeat([0, 1], 4)


@pytest.mark.parametrize("data", [line, plane])
def test_verdicts_on_narrow_gaps_are_proved(data):
    for gap in GAPS:
        verdict = separation(*data(gap))
        assert verdict.kind == "overlapping"
        assert verdict.verify(*data(gap)).holds


@pytest.mark.parametrize(
    ("data", "row", "wrong"),
    [
        (line, "the one feature above", GAPS[6:]),
        (plane, "42 rows, three features, one pair of rows across a plane", GAPS[5:]),
    ],
)
def test_what_firthmodels_says_of_narrow_gaps(data, row, wrong):
    theirs = pytest.importorskip("firthmodels").detect_separation
    assert [gap for gap in GAPS if theirs(*data(gap)).separation] == wrong
    cells = rows_of("| data | separated")[row]
    assert cells == [
        f"gaps of {wrong[0]:.0e} to {wrong[-1]:.0e}".replace("e-0", "e-"),
        f"{len(wrong)} of 10", "0 of 10",
    ]  # fmt: skip


def test_what_firthmodels_says_of_features_far_from_zero():
    theirs = pytest.importorskip("firthmodels").detect_separation
    far, labels = np.arange(8.0)[:, None] + 10_000, np.repeat([0, 1], 4)
    assert theirs(far, labels).is_finite.tolist() == [True, False]
    assert theirs(far - 9_000, labels).is_finite.tolist() == [False, False]
    assert separation(far, labels).kind == "separable"


def test_numbers_of_firthmodels():
    theirs = pytest.importorskip("firthmodels").FirthLogisticRegression().fit(X, y)
    theirs.lrt()
    ends = theirs.conf_int(method="pl")[0]
    version = "firthmodels 0.8.2"
    check(f"{version}, profile and `lrt`", theirs.coef_[0], [theirs.bse_[0]], ends,
          theirs.lrt_pvalues_[0])  # fmt: skip
    ends = theirs.conf_int()[0]
    check(f"{version}, Wald", theirs.coef_[0], [theirs.bse_[0]], ends, theirs.pvalues_[0])
    model = LogisticRegression(penalty="firth").fit(X, y)
    Z, p = np.column_stack([np.ones(len(y)), X]), model.predict_proba(X)[:, 1]
    root = Z * np.sqrt(p * (1 - p))[:, None]
    h = np.sum(root @ np.linalg.inv(root.T @ root) * root, axis=1)
    errors = np.sqrt(np.diag(np.linalg.inv((root.T * (1 + h)) @ root)))
    assert errors[1] == pytest.approx(theirs.bse_[0], rel=1e-4)


def test_what_statsmodels_says():
    sm = pytest.importorskip("statsmodels.api")
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    Z = sm.add_constant(X)
    with pytest.warns(ConvergenceWarning):
        logit = sm.Logit(y, Z).fit(disp=0)
    assert "quasi-separation" in str(logit.summary())
    with pytest.warns(ConvergenceWarning):
        other = sm.Logit(INFECTIONS[1], sm.add_constant(INFECTIONS[0])).fit(disp=0)
    assert "separation" not in str(other.summary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        glm = sm.GLM(y, Z, family=sm.families.Binomial()).fit()
    for found in (logit, glm):
        assert found.params[1] > 15  # as many iterations as the release makes
        assert found.bse[1] > 1e4
        assert found.pvalues[1] > 0.99


@pytest.mark.thorough
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
