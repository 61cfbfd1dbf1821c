"""Regressions of hashed text: the numbers of the same words in columns of their own."""

import json
import random

import numpy as np
import pytest

from command_line import here
from linsep import LinearRegression, LogisticRegression, Perceptron, Text, load, open_source
from linsep.errors import SeparationWarning
from linsep.linear.least_squares import DependentFeaturesWarning
from linsep.plot import CoefficientDisplay
from parameters_in_order import last

pytestmark = pytest.mark.compiled

WORDS = ["good", "bad", "film", "fun", "day", "sun", "rain"]  # signs of both kinds, no collisions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a text and a number, whose classes are not separable; and one where they are."""
    place, rng = tmp_path_factory.mktemp("texts"), random.Random(1)
    lines, separable = ["text,size,y,z"], ["text,y"]
    for _ in range(300):
        words = rng.sample(WORDS, rng.randint(1, 5))
        share = 0.3 + 0.3 * ("good" in words) - 0.2 * ("bad" in words)
        size = round(rng.gauss(50, 20), 1)
        lines.append(f"{' '.join(words)},{size},{int(rng.random() < share)},{rng.gauss(share, 1)}")
        separable.append(f"{' '.join(words)},{int('good' in words)}")
    (place / "a.csv").write_text("\n".join(lines) + "\n")
    (place / "s.csv").write_text("\n".join(separable) + "\n")
    return place


def sources(folder, target="y", file="a.csv", bits=6, **options):
    """The file with its words hashed, and with a column for each."""
    return [
        open_source(folder / file, target=target, text={"text": words}, **options)
        for words in (Text(n_features=1 << bits), Text(vocabulary=True))
    ]


def by_name(summary):
    """The coefficients of a summary that are not left out, by name."""
    return {row.name: row for row in summary.coefficients if row.status != "dependent"}


def assert_same_tables(hashed, own):
    assert hashed.keys() == own.keys()
    for name, row in own.items():
        assert hashed[name].status == row.status
        assert np.allclose(hashed[name][1:7], row[1:7], rtol=1e-6, atol=1e-9, equal_nan=True), name


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"penalty": "firth"}, {"intervals": "profile"}])
def test_logistic_regression(folder, options):
    hashed, own = (
        LogisticRegression(**options).fit(s) for s in sources(folder, exclude=["z"], scale="none")
    )
    assert_same_tables(by_name(hashed.summary()), by_name(own.summary()))
    assert (
        hashed.summary().header == own.summary().header or options
    )  # iterations of profiles differ
    assert hashed.n_parameters_ == own.n_parameters_ == 9


def test_linear_regression(folder):
    found = sources(folder, "z", exclude=["y"], scale="standard")
    with pytest.warns(DependentFeaturesWarning, match=r"^text:column 0, .* and 51 more are zero"):
        hashed = LinearRegression().fit(found[0])
    own = LinearRegression().fit(found[1])
    assert_same_tables(by_name(hashed.summary()), by_name(own.summary()))
    assert len(hashed.summary().notes) == 1
    terms = [sorted(str(model.equation_).split(" = ")[1].split(" ")) for model in (hashed, own)]
    assert terms[0] == terms[1]  # in the units of a column that was scaled


def test_names_of_weights_have_the_sign_of_the_column(folder):
    """What zips names with arrays agrees with the table."""
    hashed, own = (
        LogisticRegression().fit(s) for s in sources(folder, exclude=["z"], scale="none")
    )
    ratios, found = ({row.name: row for row in m.odds_ratios().coefficients} for m in (own, hashed))
    for name in WORDS:
        term = f"text:{name}"
        assert found[term].estimate == pytest.approx(ratios[term].estimate, rel=1e-5)
    assert {"-text:film", "-text:fun", "-text:day", "text:good"} < set(hashed.param_names_)
    drawn = CoefficientDisplay.from_estimator(hashed)
    rows = by_name(hashed.summary())
    assert set(drawn.names) == {"size", *(f"text:{name}" for name in WORDS)}
    assert drawn.estimates.tolist() == [rows[name].estimate for name in drawn.names]


def test_naive_bayes(folder):
    for file, words in (("h", ["--text-bits", "12"]), ("v", ["--vocabulary"])):
        fit = "fit a.csv --target y --exclude z --text text --learner naive-bayes --scale none"
        assert here(*fit.split(), "--model", file, *words, cwd=folder).returncode == 0
    tables = [json.loads(here("summary", m, "--json", cwd=folder).stdout) for m in "hv"]
    hashed, own = ({f["name"]: f for f in table["features"]} for table in tables)
    for name, feature in own.items():
        for number in ("means", "weights"):
            assert hashed[name][number] == pytest.approx(feature[number], rel=1e-6)
    shown = here("summary", "h", cwd=folder).stdout
    assert "text:film" in shown
    assert "column" not in shown


def test_equations_of_online_learners(folder):
    hashed, own = (Perceptron().fit(s) for s in sources(folder, file="s.csv"))
    weights = [
        {
            name: weight
            for name, weight in zip(e.features, e.functions[0].weights, strict=True)
            if weight
        }
        for e in (hashed.equation_, own.equation_)
    ]
    assert weights[0] == pytest.approx(weights[1], rel=1e-5)


@pytest.mark.parametrize("memory", [1 << 30, 100])
def test_very_many_columns_are_no_parameters(folder, memory):
    """Of 2^14 columns those in no row are not counted, and have no limit of their own."""
    models = []
    for source in sources(folder, file="s.csv", bits=14):
        source.memory_bytes = memory
        with pytest.warns(SeparationWarning) as caught:
            models.append(LogisticRegression().fit(source))
        models[-1].limits_told = caught[0].message.limits
    hashed, own = models
    told = {name: w for name, w in hashed.limits_told.items() if w != "dependent"}
    assert told == own.limits_told
    assert hashed.n_parameters_ == own.n_parameters_ == 8
    statuses = [{name: row.status for name, row in by_name(m.summary()).items()} for m in models]
    assert statuses[0] == statuses[1]
    assert statuses[0]["text:good"] == "+inf"


def test_very_many_columns_in_memory(folder):
    """The maximum over very many columns is that over those in a row, which have a Hessian."""
    lines = [line.split(",") for line in (folder / "a.csv").read_text().splitlines()[1:]]
    X, y = Text().fit_transform([line[0] for line in lines]), [int(line[2]) for line in lines]
    used = np.unique(X.indices)
    wide = LogisticRegression(tol=1e-8).fit(X, y)
    narrow = LogisticRegression().fit(X[:, used], y)
    assert wide.n_parameters_ == narrow.n_parameters_ == 8
    assert np.allclose(wide.coef_[:, used], narrow.coef_, rtol=1e-5)
    assert np.count_nonzero(wide.coef_) == 7
    assert wide.log_likelihood_ == pytest.approx(narrow.log_likelihood_, rel=1e-9)
    assert wide.likelihood_ratio_[1] == narrow.likelihood_ratio_[1]
    assert np.isnan([wide.aic_, wide.bic_, *wide.likelihood_ratio_[::2]]).all()  # not proved
    penalized = LogisticRegression(l2=0.1).fit(X, y)
    assert not (last(penalized, "limits_") == "dependent").any()


def test_the_command_shows_words(folder):
    command = "fit a.csv --target y --exclude z --text text --learner logistic --model m"
    done = here(*command.split(), "--scale", "none", "--text-bits", "12", cwd=folder)
    assert "\ntext:good " in done.stdout
    assert "... and 4,089 that are dependent; --json has all" in done.stdout
    assert "column " not in done.stdout.split("\n\n")[1]
    table = json.loads(here("summary", "m", "--json", cwd=folder).stdout)["coefficients"]
    rows = {row["name"]: row["estimate"] for row in table}
    listed = json.loads(here("inspect", "m", "--json", cwd=folder).stdout)["weights"][0]["heaviest"]
    assert all(rows[name] == weight for name, weight in listed)
    assert np.isnan(load(folder / "m").bic_)
    assert table_bic(folder) is None
    done = here("summary", "m", "--top", "3", cwd=folder)
    assert "and 6 more, with smaller z and 4,089 that are dependent" in done.stdout


def table_bic(folder):
    return json.loads(here("summary", "m", "--json", cwd=folder).stdout)["header"]["BIC"]
