"""Tables as people have them, and tables that a learner cannot use."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linsep
from command_line import assert_refused, here, table
from linsep.catalog import ESTIMATORS, LINEAR
from linsep.errors import DataError
from refusals import refused

SHOP = """# exported 2024-03-02
id,price,share,day,rank,zip,bought
1,"$1,234.50",5%,31.01.2024,1,02134,yes
2,"($3.00)",\u22127%,01.02.2024,2,00501,no
3,,12,02.02.2024,4,10001,yes
4,12,1,01.03.2024,1,10001,no
5,"1,200",8%,31.01.2024,1,02134,yes
6,15,\u22127%,01.02.2024,2,00501,no
"""
COMMENT = ("--comment", "#")
NUMBERS = ("--units", "--thousands", ",")
WHOLE = (
    *COMMENT, *NUMBERS, "--exclude", "id", "--date", "day=%d.%m.%Y", "--categorical", "rank",
    "--missing", "mean",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.csv").write_text(SHOP)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "line 1 is a comment: skip lines like it with --comment '#'"),
        (COMMENT, "'price' holds numbers in a special notation (such as '$1,234.50'): read them "
                  "with --units and --thousands , or keep its values as categories with "
                  "--categorical price"),
        ((*COMMENT, *NUMBERS), "'day' holds dates (such as '31.01.2024'): read days with --date "
                               "day=%d.%m.%Y, keep its values"),
        ((*COMMENT, *NUMBERS, "--date", "day"), "row 1, column 'day' holds '31.01.2024', not a "
                                                "date of the form 2024-01-31"),
        ((*COMMENT, *NUMBERS, "--exclude", "d*"), "row 3, column 'price' has no value"),
        ((*COMMENT, "--decimal", "xx"), "decimal is 'xx': give one character"),
        ((*COMMENT, "--numeric", "prize"), "has no column 'prize', only id, price,"),
        ((*COMMENT, "--encoding", "klingon"), "encoding is 'klingon': give a name"),
    ],
)  # fmt: skip
def test_refusals_name_the_option(shop, options, said):
    assert_refused(
        "fit", "shop.csv", "--target", "bought", *options, cwd=shop, said=re.escape(said)
    )


def test_from_a_description_to_predictions(shop):
    described = here("describe", "shop.csv", "--target", "bought", *COMMENT, cwd=shop).stdout
    assert "--learner perceptron --units --thousands , --date day=%d.%m.%Y --missing" in described
    fitted = here("fit", "shop.csv", "--target", "bought", *WHOLE, "--model", "m.linsep", cwd=shop)
    assert fitted.returncode == 0, fitted.stderr
    assert (
        "converted    price, share, zip to numbers without percent signs, currencies and "
        "similar marks; day to days since 1970\n"
    ) in fitted.stdout
    # The model knows how to read the file.
    predicted = here("predict", "m.linsep", "shop.csv", cwd=shop)
    assert predicted.stdout.split() == ["yes", "no"] * 3
    shown = here("inspect", "m.linsep", cwd=shop).stdout
    assert "rank=1" in shown


def test_parquet_keeps_columns_as_they_are(shop):
    for option in ("--units", "--categorical"):
        words = (option, *["rank"] * (option == "--categorical"))
        assert_refused(
            "convert", "shop.csv", "shop.parquet", *COMMENT, *words, cwd=shop, exit_code=2,
            said=f"{option} is about features, but Parquet keeps columns",
        )  # fmt: skip
    done = here("convert", "shop.csv", "shop.svm", "--target", "bought", *WHOLE, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "shop.svm").read_text().startswith("1 1:1234.5 2:5 3:19753 4:2134 5:1\n")


def test_split_keeps_what_is_before_the_header(tmp_path):
    rows = "".join(f"{k},{k % 2}\n# note\n" for k in range(20))
    (tmp_path / "rows.csv").write_text(f"junk\n# c\na,y\n{rows}")
    how = ("--target", "y", "--skip-rows", "1", "--comment", "#")
    done = here("split", "rows.csv", "--test", "0.25", *how, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    parts = [(tmp_path / f"rows-{part}.csv").read_text().splitlines() for part in ("train", "test")]
    assert [part[:3] for part in parts] == [["junk", "# c", "a,y"]] * 2
    kept = [line for part in parts for line in part[3:] if not line.startswith("#")]
    assert sorted(kept, key=lambda line: int(line.split(",")[0])) == rows.split("\n# note\n")[:-1]
    fitted = here("fit", "rows-train.csv", "--test", "rows-test.csv", *how, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    (tmp_path / "wide.csv").write_bytes("a,y\n1,2\n".encode("utf-16"))
    assert_refused(
        "split", "wide.csv", "--test", "0.5", "--encoding", "utf-16", cwd=tmp_path,
        code="encoding",
    )  # fmt: skip


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
PROVING = ("separate",), ("bounds",)


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
    assert f"{data[0]} {'line' if data == ('prices.svm',) else 'row'} 1:" in said
    for command in PROVING if learner is None else learning(learner):
        assert answer(tables, command, *data) == expected, command


@pytest.mark.parametrize("learner", ESTIMATORS)
@pytest.mark.parametrize("name", ["one", "sides"])
def test_a_single_class_or_a_regression_of_text_is_refused_as_by_fit(tables, name, learner):
    if name == "one" or learner == "linear":
        data = f"{name}.csv", "--target", "kind", "--exclude", "w"
        expected, *others = (answer(tables, command, *data) for command in learning(learner))
        assert expected[0] == 1
        assert others == [expected] * len(others)


@pytest.mark.parametrize("learner", ESTIMATORS)
def test_rows_that_all_have_weight_0_are_refused(tables, learner):
    name = "no_prices" if learner == "linear" else "no_sides"
    for command in learning(learner):
        if command[0] == "trace":  # which takes no weights of rows
            continue
        code, said = answer(tables, command, f"{name}.csv", "--target", "kind", "--weight", "w")
        assert (code, said.count("\n")) == (1, 1), (command, said)
    assert answer(tables, PROVING[0], f"{name}.csv", "--target", "kind", "--weight", "w")[0] == 1


@pytest.mark.parametrize(
    "learner", [n for n in CLASSIFIERS if n not in ("naive-bayes", "logistic")]
)
def test_two_of_three_classes_may_have_weight_0(tables, learner):
    data = "three.csv", "--target", "kind", "--exclude", "w"
    fit = "fit", "--learner", learner, "--class-weight", "x=0,y=0"
    assert answer(tables, fit, *data)[0] == 0
    assert answer(tables, (*fit, "--class-weight", "z=0"), *data)[0] == 1


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
    with refused(DataError, "no-rows"):
        kind(class_weight=dict.fromkeys("xyz", 0)).fit(ROWS, y)


def test_what_fit_refuses_is_refused_in_python():
    source = linsep.open_source(pa.table({"a": ROWS[:, 0], "p": PRICES}), target="p")
    for call in (
        lambda: linsep.separation(ROWS, PRICES), lambda: linsep.bounds(ROWS, PRICES),
        lambda: linsep.separation(source), lambda: linsep.total_distance(source, gamma=0.1),
        lambda: linsep.total_distance(ROWS, PRICES, gamma=0.1),
        lambda: linsep.trace(linsep.Perceptron(), ROWS, PRICES),
    ):  # fmt: skip
        with refused(DataError, "label-type"):
            call()
    rule, X, y = linsep.Winnow(), [[1.0, 1.0], [0.0, -1.0]], [0, 1]
    for call in (lambda: rule.fit(X, y), lambda: linsep.trace(rule, X, y)):
        with refused(DataError, "out-of-range", row=2, column=1):
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
