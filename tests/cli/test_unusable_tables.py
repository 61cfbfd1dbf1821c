"""Tables as people have them, and tables that a learner cannot use."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linsep
from command_line import assert_refused, here, table
from linsep.catalog import LINEAR
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


def test_refusals_name_the_option(shop):
    for options, said in (
        ((), "--comment '#'"),
        (COMMENT, "--units and --thousands ,"),
        ((*COMMENT, *NUMBERS), "--date day=%d.%m.%Y"),
        ((*COMMENT, *NUMBERS, "--date", "day"), "2024-01-31"),
        ((*COMMENT, "--decimal", "xx"), "decimal"),
        ((*COMMENT, "--encoding", "klingon"), "encoding"),
    ):
        words = ("fit", "shop.csv", "--target", "bought", *options)
        assert_refused(*words, cwd=shop, said=re.escape(said))


def test_from_a_description_to_predictions(shop):
    words = ("describe", "shop.csv", "--target", "bought", *COMMENT, "--json")
    described = json.loads(here(*words, cwd=shop).stdout)
    assert "--units --thousands , --date day=%d.%m.%Y --exclude id --missing" in described["next"]
    fitted = here("fit", "shop.csv", "--target", "bought", *WHOLE, "--model", "m.linsep", cwd=shop)
    assert fitted.returncode == 0, fitted.stderr
    # The model knows how to read the file.
    predicted = here("predict", "m.linsep", "shop.csv", cwd=shop)
    assert predicted.stdout.split() == ["yes", "no"] * 3
    assert "rank=1" in here("inspect", "m.linsep", cwd=shop).stdout


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


@pytest.fixture
def tables(tmp_path):
    for name, labels, weight in [
        ("prices", PRICES, 1), ("sides", SIDES, 1), ("one", ["x"] * 24, 1),
        ("no_prices", PRICES, 0), ("no_sides", SIDES, 0),
    ]:  # fmt: skip
        rows = zip(*ROWS.T.tolist(), labels, [weight] * 24, strict=True)
        table(tmp_path, f"{name}.csv", ["a", "b", "kind", "w"], rows)
    lines = [f"{p} 1:{a} 2:{b}\n" for p, (a, b) in zip(PRICES, ROWS.tolist(), strict=True)]
    (tmp_path / "prices.svm").write_text("".join(lines))
    return tmp_path


def answer(folder, command, *data):
    """Exit code and message of a command, which is no internal error."""
    done = here(command[0], *data, *command[1:], cwd=folder)
    assert done.returncode != 70, (command, done.stderr)
    assert "Traceback" not in done.stderr, (command, done.stderr)
    return done.returncode, done.stderr


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


@pytest.mark.parametrize("ids", [[7] * 23, [None] * 23])
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


def learning(learner):
    """The commands that learn with this learner."""
    yield "fit", "--learner", learner
    yield "fit", "--learner", learner, "--cv", "2"
    grid = {"linear": "l2=0,1", "logistic": "l2=1,2"}.get(learner, "max_iter=2,3")
    yield "tune", "--learner", learner, "--cv", "2", "--grid", grid
    if learner in LINEAR:
        yield "tune", "--learner", learner, "--grid", grid
        yield "trace", "--learner", learner


@pytest.mark.parametrize("learner", ["perceptron", "logistic", "linear"])
def test_every_command_that_learns_refuses_what_fit_refuses(tables, learner):
    """Numbers for classes and classes for numbers, one class, and rows without weight."""
    how, refused = ("--target", "kind", "--exclude", "w"), [("sides", 0)]
    if learner != "linear":
        refused = [("prices", 1), ("one", 0)]
    for name, row in refused:
        data = f"{name}.csv", *how
        (code, said), *others = (answer(tables, command, *data) for command in learning(learner))
        assert (code, said.count("\n")) == (1, 1)
        assert f"{name}.csv row 1:" in said or not row
        assert others == [(code, said)] * len(others)
    name = "no_prices.csv" if learner == "linear" else "no_sides.csv"
    for command in learning(learner):
        if command[0] != "trace":  # which takes no weights of rows
            code, said = answer(tables, command, name, "--target", "kind", "--weight", "w")
            assert (code, said.count("\n")) == (1, 1), (command, said)


def test_what_proves_refuses_numbers_for_classes(tables):
    for command in ("separate", "bounds"):
        assert_refused(command, "prices.svm", cwd=tables, code="label-type")
