"""Tables that a learner cannot use: every command refuses them as ``fit`` does."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linsep
from command_line import here, table
from linsep.catalog import ESTIMATORS, LINEAR
from linsep.errors import DataError

#: of at least 0, as Winnow wants them
ROWS = np.abs(np.random.default_rng(0).normal(size=(24, 2))).round(3)
SIDES = ["x" if a > b else "z" for a, b in ROWS.tolist()]
PRICES = (3 * ROWS[:, 0] - ROWS[:, 1] + 0.1234).round(4).tolist()
CLASSIFIERS = [name for name in ESTIMATORS if name != "linear"]
GRIDS = {
    "linear": "l2=0,1", "logistic": "l2=1,2", "naive-bayes": "variances=shared,by_class",
    "soft-margin": "C=1,2", "kernel-soft-margin": "C=1,2",
}  # fmt: skip


@pytest.fixture
def tables(tmp_path):
    for name, labels, weight in [
        ("prices", PRICES, 1), ("sides", SIDES, 1), ("one", ["x"] * 24, 1),
        ("three", ["x", "y", "z"] * 8, 1), ("no_prices", PRICES, 0), ("no_sides", SIDES, 0),
    ]:  # fmt: skip
        rows = zip(*ROWS.T.tolist(), labels, [weight] * 24, strict=True)
        table(tmp_path, f"{name}.csv", ["a", "b", "kind", "w"], rows)
    lines = [f"{p} 1:{a} 2:{b}\n" for p, (a, b) in zip(PRICES, ROWS.tolist(), strict=True)]
    (tmp_path / "prices.svm").write_text("".join(lines))
    return tmp_path


def learning(learner):
    """The commands that learn with this learner: words before and after the data."""
    grid = GRIDS.get(learner, "max_iter=2,3")
    yield "fit", "--learner", learner
    yield "fit", "--learner", learner, "--cv", "2"
    yield "tune", "--learner", learner, "--cv", "2", "--grid", grid
    if learner in LINEAR:
        yield "tune", "--learner", learner, "--grid", grid
        yield "trace", "--learner", learner


#: other commands that need classes
PROVING = ("separate",), ("separate", "--gamma", "0.1"), ("bounds",)


def answer(folder, command, *data):
    """Exit code and message of a command, which is no internal error."""
    done = here(command[0], *data, *command[1:], cwd=folder)
    assert done.returncode != 70, (command, done.stderr)
    assert "Traceback" not in done.stderr, (command, done.stderr)
    return done.returncode, done.stderr


@pytest.mark.parametrize("learner", [*CLASSIFIERS, None])
@pytest.mark.parametrize(
    "data", [("prices.csv", "--target", "kind", "--exclude", "w"), ("prices.svm",)]
)
def test_a_continuous_target_is_refused_as_by_fit(tables, data, learner):
    code, said = expected = answer(tables, ("fit",), *data)
    assert (code, said.count("\n")) == (1, 1)
    assert f"{data[0]} line {1 if data == ('prices.svm',) else 2}:" in said
    for command in PROVING if learner is None else learning(learner):
        assert answer(tables, command, *data) == expected, command


@pytest.mark.parametrize("name", ["sides", "one"])
def test_a_regression_of_text_is_refused_as_by_fit(tables, name):
    data = f"{name}.csv", "--target", "kind", "--exclude", "w"
    first, *others = learning("linear")
    expected = answer(tables, first, *data)
    assert expected[0] == 1
    assert [answer(tables, command, *data) for command in others] == [expected] * len(others)


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_single_class_is_refused_by_folds_as_by_fit(tables, learner):
    data = "one.csv", "--target", "kind", "--exclude", "w"
    first, *others = learning(learner)
    expected = answer(tables, first, *data)
    assert expected[0] == 1
    for command in others:
        assert answer(tables, command, *data) == expected, command


@pytest.mark.parametrize("learner", ESTIMATORS)
def test_rows_that_all_have_weight_0_are_refused(tables, learner):
    name = "no_prices" if learner == "linear" else "no_sides"
    for command in learning(learner):
        if command[0] == "trace":  # which takes no weights of rows
            continue
        code, said = answer(tables, command, f"{name}.csv", "--target", "kind", "--weight", "w")
        assert (code, said.count("\n")) == (1, 1), (command, said)
    assert answer(tables, PROVING[0], f"{name}.csv", "--target", "kind", "--weight", "w")[0] == 1


@pytest.mark.parametrize("learner", [name for name in CLASSIFIERS if name != "naive-bayes"])
def test_two_of_three_classes_may_have_weight_0(tables, learner):
    given = ["--class-weight", "x=0,y=0"]
    ways = [[], ["--loss", "squared_hinge"]] if learner.endswith("soft-margin") else [[]]
    for way in ways:
        data = "three.csv", "--target", "kind", "--exclude", "w"
        assert answer(tables, ("fit", "--learner", learner, *given, *way), *data)[0] == 0
        assert answer(tables, ("fit", "--learner", learner, *given, "--class-weight", "z=0"),
                      *data)[0] == 1  # fmt: skip


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [linsep.SoftMargin, linsep.KernelSoftMargin])
def test_a_soft_margin_of_classes_without_weight_predicts_the_others(kind, loss, multiclass):
    y = np.array(["x", "y", "z"] * 8)
    model = kind(loss=loss, multiclass=multiclass, class_weight={"x": 0, "y": 0})
    with pytest.warns(UserWarning, match="'x', 'y'"):
        model.fit(ROWS, y)
    assert set(model.predict(ROWS)) == {"z"}
    assert (model.objective_, model.duality_gap_) == (0.0, 0.0)
    with pytest.raises(DataError):
        kind(class_weight=dict.fromkeys("xyz", 0)).fit(ROWS, y)


def test_proofs_and_bounds_in_python_refuse_a_continuous_target():
    source = linsep.open_source(pa.table({"a": ROWS[:, 0], "p": PRICES}), target="p")
    for call in (
        lambda: linsep.separation(ROWS, PRICES), lambda: linsep.bounds(ROWS, PRICES),
        lambda: linsep.separation(source), lambda: linsep.total_distance(source, gamma=0.1),
        lambda: linsep.total_distance(ROWS, PRICES, gamma=0.1),
        lambda: linsep.trace(linsep.Perceptron(), ROWS, PRICES),
    ):  # fmt: skip
        with pytest.raises(DataError):
            call()


def test_a_trace_refuses_rows_that_a_fit_refuses():
    rule, X, y = linsep.Winnow(), [[1.0, -1.0], [0.0, 0.0]], [0, 1]
    for call in (lambda: rule.fit(X, y), lambda: linsep.trace(rule, X, y)):
        with pytest.raises(DataError):
            call()


@pytest.mark.parametrize("given", [["0=1,1=5"], ["0=1", "1=5"]])
def test_class_weights_may_be_separated_by_commas(tables, given):
    rows = [[a, b, int(a > b)] for a, b in ROWS.tolist()]
    table(tables, "numbers.csv", ["a", "b", "kind"], rows)
    options = [word for one in given for word in ("--class-weight", one)]
    fit = ("fit", "--learner", "logistic", "--l2", "1", "--model", "m", *options)
    assert answer(tables, fit, "numbers.csv", "--target", "kind")[0] == 0
    assert linsep.load(tables / "m").class_weight == {0: 1.0, 1: 5.0}


def test_a_comma_in_a_label_is_kept(tables):
    labels = ['"p,q"' if a > b else "r" for a, b in ROWS.tolist()]
    table(tables, "t.csv", ["a", "kind"], zip(ROWS[:, 0].tolist(), labels, strict=True))
    fit = ("fit", "--class-weight", "p,q=2", "--model", "m")
    assert answer(tables, fit, "t.csv", "--target", "kind")[0] == 0
    assert linsep.load(tables / "m").class_weight == {"p,q": 2.0}


@pytest.mark.parametrize("ids", [[7] * 23, [None] * 23, list(range(23))])
@pytest.mark.parametrize("output", ["", "p.csv", "p.parquet"])
def test_numbers_beyond_64_bits_are_copied_beside_predictions(tables, ids, output):
    long = 12345678901234567890
    objects = [
        {"a": a, "b": b, "id": i} for (a, b), i in zip(ROWS.tolist(), [*ids, long], strict=True)
    ]
    (tables / "t.jsonl").write_text("".join(json.dumps(one) + "\n" for one in objects))
    here("fit", "sides.csv", "--target", "kind", "--exclude", "w", "--model", "m", cwd=tables)
    words = ["--output", output] if output else ["--json"]
    predict = ("predict", "m", "t.jsonl", "--keep-columns", "id", *words)
    done = here(*predict, cwd=tables)
    assert (done.returncode, done.stderr) == (0, "")
    if output == "p.parquet":
        last = pq.read_table(tables / output).column("id").to_pylist()[-1]
    elif output:
        last = (tables / output).read_text().splitlines()[-1].split(",")[0]
    else:
        last = json.loads(done.stdout.splitlines()[-1])["id"]
    assert str(last) == str(long)


def test_kept_columns_may_have_other_types_in_other_files(tables):
    here("fit", "sides.csv", "--target", "kind", "--exclude", "w", "--model", "m", cwd=tables)
    for name, ids in (("one", list(range(24))), ("two", ["x"] * 24)):
        columns = {"a": ROWS[:, 0], "b": ROWS[:, 1], "id": ids}
        pq.write_table(pa.table(columns), tables / f"{name}.parquet")
    predict = ("predict", "m", "one.parquet", "two.parquet", "--keep-columns", "id")
    assert answer(tables, (*predict, "--output", "p.parquet"))[0] == 1  # has one type a column
    assert answer(tables, (*predict, "--output", "p.csv")) == (0, "")
    done = here(*predict, cwd=tables)
    assert done.returncode == 0
    assert [line.split("\t")[0] for line in done.stdout.splitlines()][-25:] == ["23", *["x"] * 24]


def test_a_warm_start_of_a_kernel_with_other_features_is_refused_in_words():
    model = linsep.KernelPerceptron(warm_start=True).fit(ROWS, SIDES)
    with pytest.raises(ValueError, match="warm_start needs as many features"):
        model.fit(ROWS[:, :1], SIDES)
