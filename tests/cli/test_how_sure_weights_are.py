"""How sure a learner is of its weights: in ``inspect``, in ``audit`` and in a picture."""

import json

import numpy as np
import pytest

import linsep
from command_line import here
from linsep.errors import DataError
from linsep.plot import CoefficientDisplay
from refusals import refused

pytestmark = pytest.mark.uncompiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sure")
    rows = "a,b,c,kind\n1,1,0,x\n3,2,0,y\n2,4,0,z\n3,4,1,y\n2,3,0,x\n"
    (folder / "several.csv").write_text(rows)
    (folder / "two.csv").write_text(rows.replace(",z\n", ",y\n"))
    (folder / "words.csv").write_text(
        "kind,said\nham,see you\nspam,win a prize now\nham,see me now\n"
    )
    arow = ("--learner", "arow", "--scale", "none")
    for name, words in {
        "several": ("several.csv", *arow),
        "two": ("two.csv", *arow, "--exclude", "c", "--max-iter", "1"),
        "words": ("words.csv", *arow, "--text", "said"),
        "p": ("several.csv", "--learner", "perceptron"),
    }.items():
        how = ("--target", "kind", "--model", f"{name}.linsep")
        done = here("fit", *words, *how, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def printed(folder, *words):
    done = here(*words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_inspect_shows_standard_deviations(folder):
    model = linsep.load(folder / "two.linsep")
    lines = printed(folder, "inspect", "two.linsep").splitlines()
    (own,) = np.sqrt(model.variances_)
    order = np.argsort(-np.abs(model.coef_[0]), kind="stable")
    table = [line.split() for line in lines[-2:]]
    assert lines[-3].split() == ["feature", "weight", "std.", "dev."]
    assert [row[0] for row in table] == [["a", "b"][j] for j in order]
    assert [float(row[2]) for row in table] == pytest.approx(own[order].tolist(), rel=1e-5)
    assert f"± {np.sqrt(model.intercept_variances_[0]):.2g}, 2 nonzero weights" in "\n".join(lines)
    (found,) = json.loads(printed(folder, "inspect", "two.linsep", "--json"))["weights"]
    assert found["standard_deviations"] == own[order].tolist()
    assert found["intercept_standard_deviation"] == np.sqrt(model.intercept_variances_[0])


def test_inspect_of_several_classes(folder):
    said = printed(folder, "inspect", "several.linsep")
    assert said.count(" ± ") > 6
    assert "±" not in printed(folder, "inspect", "p.linsep")
    model = linsep.load(folder / "several.linsep")
    machines = json.loads(printed(folder, "inspect", "several.linsep", "--json"))["weights"]
    for k, machine in enumerate(machines):
        names = [name for name, _ in machine["heaviest"]]
        own = np.sqrt(model.variances_[k])[["abc".index(name) for name in names]]
        assert machine["standard_deviations"] == own.tolist()


@pytest.mark.parametrize("name", ["two", "several", "words"])
def test_audit_has_a_column_for_them(folder, name):
    words = ("audit", f"{name}.linsep", f"{name}.csv", "--row", "2")
    heading = next(x for x in printed(folder, *words).splitlines() if x.startswith("feature"))
    assert heading.split() == ["feature", "value", "weight", "std.", "dev.", "product"]
    terms = json.loads(printed(folder, *words, "--json"))["terms"]
    assert all(0 < term["standard_deviation"] <= 1 for term in terms)
    assert list(terms[0]) == ["feature", "value", "weight", "standard_deviation", "product"]
    plain = printed(folder, "audit", "p.linsep", "several.csv")
    assert "std. dev." not in plain


@pytest.mark.parametrize("name", ["two", "several", "words"])
def test_the_picture_has_a_bar_for_every_weight(folder, name):
    model = linsep.load(folder / f"{name}.linsep")
    top = 4
    display = CoefficientDisplay.from_estimator(model, top=top, intercept=name == "two")
    assert len(display.names) == min(top, model.coef_.size + (name == "two"))
    assert np.all(np.abs(display.estimates[:-1]) >= np.abs(display.estimates[1:]))
    spread = (display.high - display.low) / 2
    for shown, weight, own in zip(display.names, display.estimates, spread, strict=True):
        machine, _, feature = shown.rpartition(": ")
        k = model.classes_.tolist().index(machine) if machine else 0
        if feature == "intercept":
            expected = model.intercept_[k], model.intercept_variances_[k]
        else:
            j = np.argmin(np.abs(np.abs(model.coef_[k]) - abs(weight)))
            expected = model.coef_[k][j], model.variances_[k][j]
            assert name == "words" or feature == "abc"[j]
        assert (abs(weight), own) == pytest.approx((abs(expected[0]), np.sqrt(expected[1])))
    assert display.ax_.get_xlabel() == "weight ± one standard deviation"


def test_the_command_draws_it_without_odds(folder):
    printed(folder, "plot", "coefficients", "two.linsep", "-o", "two.svg")
    assert "standard deviation" in (folder / "two.svg").read_text()
    done = here("plot", "coefficients", "two.linsep", "--odds", "-o", "odds.svg", cwd=folder)
    assert done.returncode == 1
    assert "AROW are not log-odds: leave out --odds" in done.stderr
    with refused(DataError, "unsupported"):
        CoefficientDisplay.from_estimator(linsep.load(folder / "p.linsep"))
