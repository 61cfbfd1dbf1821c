"""linsep export: the labels of linsep from databases, onnxruntime and the files alone; refusals."""

import json
import sqlite3
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import assert_refused, here, table
from exported import of_csv, of_databases, of_json, of_onnx
from linsep import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    calibrate,
    export,
    load,
    open_source,
    save,
)
from linsep.errors import LinsepError
from linsep.exports.sql import literal
from refusals import refused

NUMBERS = ["order", "a \"b\" 'c'", "größe*/;--", "int", "x y", "A?\\?/"]
TEXTS = {"class": ["it's", '"q"', "größe", "NULL", "a\\n", "-- x"], "sel\nect": ["v1", "v2", "03x"]}
COLUMNS = dict.fromkeys(NUMBERS, float) | dict.fromkeys(TEXTS, str)
TARGETS = ["kind", "side", "number"]
ENDINGS = ("json", "csv", "sql", "onnx")


def frame(rng, n):
    """Columns with names and values that are odd in every language, and three targets."""
    data = pd.DataFrame({name: rng.normal(size=n) * 10**k for k, name in enumerate(NUMBERS)})
    for name, values in TEXTS.items():
        data[name] = rng.choice(values, n)
    score = data["order"] + (data["class"] == "NULL") * 2 - (data["sel\nect"] == "v2")
    data["kind"] = np.where(score > 0.7, "it's Ü", np.where(score > -0.5, 'b "x"', "select"))
    data["side"], data["number"] = score > 0, score + rng.normal(size=n) * 0.1
    for k, name in enumerate(COLUMNS):
        data.loc[k * 3 :: 17, name] = None
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("export"), np.random.default_rng(0)
    frame(rng, 300).to_csv(folder / "train.csv", index=False)
    data = frame(rng, 300)
    data.loc[::7, "class"] = "never seen"
    data.loc[:40, ["class", "sel\nect"]] = "x"
    data.to_csv(folder / "test.csv", index=False)
    cells = data[list(COLUMNS)].to_dict("records")
    rows = [{c: None if pd.isna(v) else v for c, v in row.items()} for row in cells]
    return folder, data, rows


def learned(folder, name, target, *options):
    """A model that `linsep fit` has learned from the table, and all its exports."""
    others = [part for other in TARGETS if other != target for part in ("--exclude", other)]
    done = here(
        "fit", "train.csv", "--target", target, *others, *options, "--model", f"{name}.linsep",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for ending in ENDINGS:
        done = here("export", f"{name}.linsep", f"{name}.{ending}", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert f"{name}.{ending}, " in done.stdout
    return load(folder / f"{name}.linsep")


def expected(model, folder, data, rows):
    """Predictions of linsep, None for rows that it leaves out."""
    dropped = model.recipe_["missing"] == "drop"
    kept = [k for k, row in enumerate(rows) if not dropped or None not in row.values()]
    data.iloc[kept].to_csv(folder / "kept.csv", index=False)
    source = open_source(folder / "kept.csv", recipe=model.recipe_, labeled=False)
    found = [None] * len(rows)
    for k, prediction in zip(kept, model.predict(source).tolist(), strict=True):
        found[k] = prediction
    assert len(kept) > 100
    return found


def assert_same(found, wanted):
    """Labels are the same, numbers but for rounding."""
    if any(isinstance(one, float) for one in wanted):  # None becomes NaN
        pair = np.array(found, float), np.array(wanted, float)
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12)
    else:
        assert list(found) == wanted


fits = pytest.mark.parametrize(
    ("target", "options"),
    [
        ("kind", ["--missing", "mean"]),
        ("kind", ["--missing", "drop", "--learner", "logistic", "--l2", "1"]),
        ("side", ["--missing", "zero", "--normalize", "--reference", "True"]),
        ("number", ["--missing", "mean", "--learner", "linear"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given,
)


@fits
@pytest.mark.filterwarnings(r"ignore:[\s\S]*not seen in training")
def test_every_format_predicts_what_linsep_predicts(folder, target, options, request):
    folder, data, rows = folder
    name = f"m{abs(hash(request.node.name))}"
    model = learned(folder, name, target, *options)
    wanted = expected(model, folder, data, rows)
    assert_same(of_json(folder / f"{name}.json", rows), wanted)
    for lines in of_databases(folder / f"{name}.sql", COLUMNS, rows):
        assert_same([line["linsep_prediction"] for line in lines], wanted)
    labels = of_onnx(folder / f"{name}.onnx", rows, COLUMNS)[0].tolist()
    holes = [one is None for one in wanted]
    assert_same([None if hole else a for a, hole in zip(labels, holes, strict=True)], wanted)
    assert_weights_of_csv(folder / f"{name}.csv", model)


def assert_weights_of_csv(path, model):
    """The weights in a CSV file are those of the model, to the bit."""
    found = of_csv(path)
    logistic = hasattr(model, "reference_") and not hasattr(model, "multiclass")
    if logistic or getattr(model, "reference_", None) is not None:
        return  # weights of the reference are zeros, or signs are turned
    weights = [line[5:] for line in found["number"]] + [line[5:] for line in found["text"]]
    assert np.array_equal(np.array(weights, float).T, np.atleast_2d(model.coef_))
    assert np.array_equal(np.array(found["intercept"][0][5:], float), np.ravel(model.intercept_))
    if scale := model.recipe_["scale"]:
        assert [[float(line[3]), float(line[4])] for line in found["number"]] == [*scale.values()]
    assert [line[0] for line in found["number"]] == NUMBERS


EXTREME = [1e-300, 5e-324, 1 / 3, -0.1, 1.7976931348623157e308, 123456789.123, -2.5e-17, 7e22]


def test_weights_are_read_back_to_the_bit(tmp_path):
    """Every language reads the float64 that linsep has, also very large and small ones."""
    d = len(EXTREME)
    model = LinearRegression().fit(np.eye(d + 2, d), np.arange(d + 2.0))
    model.coef_, model.intercept_ = np.array(EXTREME), 0.0
    for ending in ENDINGS[:-1]:
        export(model, tmp_path / f"m.{ending}")
    stored = json.loads((tmp_path / "m.json").read_text())["scores"][0]["weights"]
    assert list(stored.values()) == EXTREME
    assert [float(line[5]) for line in of_csv(tmp_path / "m.csv")["number"]] == EXTREME
    rows = np.eye(d).tolist()
    cells = [{f"x{j}": value for j, value in enumerate(row)} for row in rows]
    for lines in of_databases(tmp_path / "m.sql", dict.fromkeys(cells[0], float), cells):
        assert [line["linsep_prediction"] for line in lines] == EXTREME


def test_numbers_in_sql_are_exact():
    duckdb, rng = pytest.importorskip("duckdb"), np.random.default_rng(0)
    bits = rng.integers(0, 0x7FF0 << 48, 1000, dtype=np.int64).tolist()
    numbers = [struct.unpack("<d", struct.pack("<q", number))[0] for number in bits]
    numbers += [0.0, -0.0, 1e22, 2.0**53, 2.0**1023, 2.0**-1074]
    numbers += (rng.normal(size=1000) * 10.0 ** rng.integers(-16, 16, 1000)).tolist()
    for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
        for first in range(0, len(numbers), 500):
            some = numbers[first : first + 500]
            found = connection.execute("SELECT " + ", ".join(map(literal, some))).fetchone()
            assert list(found) == some
            assert all(isinstance(number, float) for number in found)
        connection.close()


@pytest.mark.parametrize(
    ("scheme", "tie"), [("native", "positive"), ("ovr", "negative"), ("ovo", "positive")]
)
def test_ties(tie, scheme, tmp_path):
    """Whole numbers make scores that are equal, or zero, exactly."""
    rng = np.random.default_rng(3)
    k = 2 if scheme == "native" else 3
    X, y = rng.integers(-2, 3, (60, 3)).astype(float), rng.integers(0, k, 60)
    model = Perceptron(multiclass=scheme, tie=tie, max_iter=4, fit_intercept=False).fit(X, y)
    Z = np.stack(np.meshgrid(*[np.arange(-3.0, 4)] * 3), axis=-1).reshape(-1, 3)
    wanted, scores = model.predict(Z).tolist(), np.sort(model.decision_function(Z))
    assert np.count_nonzero(scores == 0 if k == 2 else scores[:, -1] == scores[:, -2]) > 1
    for ending in ENDINGS:
        export(model, tmp_path / f"m.{ending}")
    cells = [{f"x{j}": value for j, value in enumerate(row)} for row in Z.tolist()]
    for lines in of_databases(tmp_path / "m.sql", dict.fromkeys(cells[0], float), cells):
        assert [line["linsep_prediction"] for line in lines] == wanted
    assert of_json(tmp_path / "m.json", [dict(enumerate(row)) for row in Z.tolist()]) == wanted
    assert of_onnx(tmp_path / "m.onnx", Z)[0].tolist() == wanted


def test_columns_of_texts_only(tmp_path):
    rows = [{"t": t, "u": u} for t in "abc" for u in "xy" for _ in range(3)]
    cells = [(*row.values(), "pq"[row["t"] == "b" or row["u"] == "x"]) for row in rows]
    table(tmp_path, "t.csv", ["t", "u", "y"], cells)
    source = open_source(tmp_path / "t.csv", target="y", missing="error")
    model = Perceptron(keep="average").fit(source)
    wanted = [*model.predict(source).tolist(), None]
    rows.append({"t": "b", "u": None})
    assert of_json(export(model, tmp_path / "m.json"), rows) == wanted
    for lines in of_databases(export(model, tmp_path / "m.sql"), {"t": str, "u": str}, rows):
        assert [line["linsep_prediction"] for line in lines] == wanted
    labels = of_onnx(export(model, tmp_path / "m.onnx"), rows, "tu")[0].tolist()
    assert labels[:-1] == wanted[:-1]


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities(k, tmp_path):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    y = (np.arange(90) % k + (X["a"] > 1)) % k
    model = LogisticRegression(l2=0.1).fit(X, y)
    export(model, tmp_path / "m.sql")
    X *= 500.0  # far beyond what exp can hold
    wanted, rows = model.predict_proba(X), X.to_dict("records")
    near = {"rtol": 1e-11, "atol": 1e-300}
    for lines in of_databases(tmp_path / "m.sql", {"a": float, "b": float}, rows):
        columns = [f"linsep_probability_{c}" for c in (1, 2, 3)[:k]]
        if k == 2:
            found = [line["linsep_probability"] for line in lines]
            np.testing.assert_allclose(found, wanted[:, 1], **near)
        else:
            found = [[line[column] for column in columns] for line in lines]
            np.testing.assert_allclose(found, wanted, **near)


def test_svmlight_models(tmp_path):
    """Features have numbers, and those that are left out are zero."""
    rng = np.random.default_rng(1)
    lines = [
        f"{k % 2} "
        + " ".join(f"{j}:{rng.integers(-4, 5)}" for j in (1, 3, 7) if rng.random() < 0.7)
        for k in range(60)
    ]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    assert here("fit", "t.svm", "--model", "m", cwd=tmp_path).returncode == 0
    model = load(tmp_path / "m")
    wanted = model.predict(open_source(tmp_path / "t.svm", recipe=model.recipe_)).tolist()
    rows = [
        {int(j): float(v) for j, _, v in (p.partition(":") for p in line.split()[1:])}
        for line in lines
    ]
    for ending in ENDINGS:
        assert here("export", "m", f"m.{ending}", cwd=tmp_path).returncode == 0
    labels, _ = of_onnx(
        tmp_path / "m.onnx", [[row.get(j, 0.0) for j in range(1, 8)] for row in rows]
    )
    assert labels.tolist() == wanted
    cells = [{str(j): row.get(j) for j in (1, 3, 7)} for row in rows]
    for found in of_databases(tmp_path / "m.sql", dict.fromkeys("137", float), cells):
        assert [line["linsep_prediction"] for line in found] == wanted


def test_columns_of_float32_and_of_other_types(tmp_path):
    """ONNX scales in float32, as linsep does; empty texts are values like others."""
    rng, n = np.random.default_rng(0), 400
    cells = {
        "a": pa.array(rng.normal(size=n).astype("f4") * 1000, mask=rng.random(n) < 0.1),
        "b": rng.integers(-3, 4, n).astype("f4"),
        "flag": rng.random(n) < 0.5,
        "c": pa.array(rng.choice(["", "x", "y"], n), mask=rng.random(n) < 0.1),
    }
    y = cells["a"].fill_null(0).to_numpy() / 1000 + cells["b"] + cells["flag"] > 0.3
    data = pa.table(cells | {"y": y})
    pq.write_table(data, tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet", target="y", missing="mean", scale="standard")
    model = Perceptron(keep="average", max_iter=5).fit(source)
    assert model.recipe_["dtype"] == "float32"
    source = open_source(tmp_path / "t.parquet", recipe=model.recipe_)
    wanted, scores = model.predict(source).tolist(), model.decision_function(source)
    rows = data.drop_columns(["y"]).to_pylist()
    for ending in ENDINGS:
        export(model, tmp_path / f"m.{ending}")
    labels, found = of_onnx(tmp_path / "m.onnx", rows, cells)
    assert labels.tolist() == wanted
    np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-12)
    with pytest.importorskip("duckdb").connect() as connection:
        connection.register("data", data)
        lines = connection.execute((tmp_path / "m.sql").read_text()).fetchall()
    np.testing.assert_allclose([line[-2] for line in lines], scores, rtol=1e-5, atol=1e-5)


X = np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 1.0], [0.0, 3.0], [2.0, 2.0], [5.0, 1.0]])


def test_empty_text_in_a_database_is_missing(tmp_path):
    """SQLite imports the empty cells of a CSV file as empty text."""
    cells = [[k, "uv"[k % 2], "pq"[k > 4]] for k in range(1, 9)]
    table(tmp_path, "t.csv", ["n", "t", "y"], cells)
    source = open_source(tmp_path / "t.csv", target="y", missing="drop", scale="standard")
    model = Perceptron(max_iter=9).fit(source)
    full = [{"n": str(n), "t": t} for n, t, _ in cells]
    holes = [{"n": "", "t": "u"}, {"n": None, "t": "u"}, {"n": "8", "t": ""}, {"n": "8", "t": None}]
    wanted = model.predict(source).tolist() + [None] * 4
    path = export(model, tmp_path / "m.sql")
    for lines in of_databases(path, {"n": str, "t": str}, full + holes):
        assert [line["linsep_prediction"] for line in lines] == wanted


def test_calibrated_probabilities_are_not_exported_silently(tmp_path):
    model = Perceptron(max_iter=2, tie="positive").fit(X, list("pqqpqp"))
    for name in ("plain", "calibrated"):
        save(model, tmp_path / name)
        calibrate(model, X, list("pqqpqp"))
    assert here("export", "plain", "plain.csv", cwd=tmp_path).stderr == ""
    about = {tuple(line[:2]) for line in of_csv(tmp_path / "plain.csv")["about"]}
    assert ("rule", "q if the score is at least 0, else p") in about
    done = here("export", "calibrated", "calibrated.sql", cwd=tmp_path)
    assert (done.returncode, done.stderr[:17]) == (0, "linsep: warning: ")
    assert "probability" not in (tmp_path / "calibrated.sql").read_text()


def test_numbers_of_rows_do_not_stand_for_a_column(tmp_path):
    """SQLite and DuckDB have hidden columns, which a table without such a column must not lend."""
    frame = pd.DataFrame(X, columns=["a", "rowid"])
    model = Perceptron().fit(frame, list("pqqpqp"))
    path = export(model, tmp_path / "m.sql")
    rows = [{"a": a, "rowid": b} for a, b in X.tolist()]
    for lines in of_databases(path, {"a": float, "rowid": float}, rows):
        assert [line["linsep_prediction"] for line in lines] == model.predict(frame).tolist()
    for database in ("sqlite3", "duckdb"):
        with pytest.raises(pytest.importorskip(database).Error, match="rowid"):
            of_databases(path, {"a": float}, [{"a": a} for a, _ in X.tolist()], [database])


NAMES = ["data", "linsep_rows", "linsep_names", "rowid", "x_y", "x-y", "int", "label", "scores"]
NAMES += ["x y", "a\nb", "'", '"', "; --", "*/", "%s", "{0}", "\\", "ß", "a=b"]
VALUES = ["a\nb", "\n", "ulm", "ULM", "Ulm", " Ulm", "Ulm ", "it's", '"']
VALUES += ["\\r", "NULL", "--", "%d", "{}", "é", "e\u0301", "\u2028", "\x85", "=1+1", "*/"]


@pytest.mark.parametrize("seed", range(2))
def test_hostile_names_and_values(seed, tmp_path):
    rng = np.random.default_rng(seed)
    names = rng.permutation(NAMES)[:6].tolist()
    columns = dict.fromkeys(names[:3], float) | dict.fromkeys(names[3:], str)
    values = rng.permutation(VALUES)[:9].tolist()
    data = pd.DataFrame({name: rng.integers(-9, 10, 80) * 1.0 for name in names[:3]})
    for name in names[3:]:
        data[name] = rng.choice(values, 80)
    labels = rng.permutation(VALUES)[:3].tolist()
    score = data[names[0]] + 4.0 * (data[names[3]] < "a")
    data["the label"] = np.select([score > 3, score > -3], labels[:2], labels[2])
    data.to_parquet(tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet", target="the label")
    how = {"multiclass": "ovo"} if seed % 2 else {"normalize": True}
    model = Perceptron(max_iter=3, **how).fit(source)
    wanted, rows = model.predict(source).tolist(), data[names].to_dict("records")
    for ending in ENDINGS:
        export(model, tmp_path / f"m.{ending}")
    assert of_json(tmp_path / "m.json", rows) == wanted
    assert of_onnx(tmp_path / "m.onnx", rows, columns)[0].tolist() == wanted
    for lines in of_databases(tmp_path / "m.sql", columns, rows):
        assert [line["linsep_prediction"] for line in lines] == wanted
    read = of_csv(tmp_path / "m.csv")
    assert [line[0] for line in read["number"]] == names[:3]
    assert [line[:2] for line in read["text"]] == [
        [name, value] for name in names[3:] for value in sorted(set(data[name]))
    ]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    rows = [[x, f"{'ab'[x % 2]}", f"word{x} other", x % 3 > 0] for x in range(12)]
    table(folder, "t.csv", ["n", "t", "words", "y"], rows)
    (folder / "t.vw").write_text("1 | a b\n-1 | c\n")
    learn = {
        "plain": ["t.csv", "--exclude", "words"],
        "words": ["t.csv", "--exclude", "t", "--text", "words"],
        "hashed": ["t.csv", "--exclude", "words", "--hash-bits", "4"],
        "kernel": ["t.csv", "--exclude", "words", "--exclude", "t", "--learner", "kernel"],
        "gaps": ["t.csv", "--exclude", "words", "--missing", "indicator"],
        "vote": ["t.csv", "--exclude", "words", "--keep", "vote"],
        "random": ["t.csv", "--exclude", "words", "--tie", "random"],
        "vw": ["t.vw"],
    }
    for name, (data, *options) in learn.items():
        target = ["--target", "y"] if data.endswith("csv") else []
        done = here("fit", data, *target, *options, "--model", f"{name}.linsep", cwd=folder)
        assert done.returncode == 0, done.stderr
    whole = (folder / "plain.linsep").read_bytes()
    (folder / "damaged.linsep").write_bytes(whole[:-9] + b"x" + whole[-8:])
    (folder / "is.sql").write_text("mine")
    return folder


def test_refusals(models):
    for model, file, code in (
        ("plain", "m.py", "wrong-format"),
        ("plain", "is.sql", "file-exists"),
        ("plain", "none/m.sql", "no-file"),
        ("damaged", "m.sql", "bad-model-file"),
        ("words", "m.json", "unsupported"),
        ("hashed", "m.onnx", "unsupported"),
        ("kernel", "m.onnx", "unsupported"),
        ("gaps", "m.json", "unsupported"),
        ("vote", "m.sql", "unsupported"),
        ("random", "m.csv", "unsupported"),
        ("vw", "m.onnx", "unsupported"),
    ):
        assert_refused("export", f"{model}.linsep", file, cwd=models, code=code)
    assert (models / "is.sql").read_text() == "mine"


def test_the_model_itself_is_never_overwritten(models):
    (models / "m.sql").write_bytes((models / "plain.linsep").read_bytes())
    assert_refused("export", "m.sql", "m.sql", "--force", cwd=models, code="conflict")
    assert_refused("export", "m.sql", "-", cwd=models, exit_code=2)


@pytest.mark.parametrize(
    ("names", "labels", "ending", "code"),
    [
        (["a", "A"], ["p", "q"], "sql", "duplicate-name"),
        (["a", "LINSEP_Prediction"], ["p", "q"], "sql", "duplicate-name"),
        (["a", "b\0"], ["p", "q"], "sql", "unsupported"),
        (["a", "b\rc"], ["p", "q"], "sql", "unsupported"),
        (["a", ""], ["p", "q"], "sql", "unsupported"),
        (["a", "b"], [2**63, 2**64 - 1], "sql", "out-of-range"),
        (["a", "a"], ["p", "q"], "csv", "duplicate-name"),
    ],
)
def test_names_that_a_format_cannot_hold(names, labels, ending, code, tmp_path):
    model = Perceptron(max_iter=2).fit([[0.0, 1.0], [1.0, 0.0]], np.array(labels, dtype=object))
    model.feature_names_in_ = np.array(names, dtype=object)
    with refused(LinsepError, code):
        export(model, tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


def test_wide_models_are_not_for_databases(tmp_path):
    model = Perceptron(max_iter=2).fit(np.eye(2, 3000), [0, 1])
    with refused(LinsepError, "too-large"):
        export(model, tmp_path / "m.sql")
    export(model, tmp_path / "m.json")
    with refused(LinsepError, "file-exists"):
        export(model, tmp_path / "m.json")
    assert export(model, tmp_path / "m.json", force=True).exists()
