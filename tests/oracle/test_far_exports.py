"""Exports of models of columns far from zero: what linsep predicts without the base."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import linsep
from exported import module, of_databases, of_json, of_onnx
from linsep import GaussianNaiveBayes, LinearRegression, LogisticRegression, export
from linsep.exports.scoring import ExportError

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]
NAMES = ["a", "b", "c"]
KINDS = [LogisticRegression, GaussianNaiveBayes]


def rows(classes, n=120):
    """Whole numbers, to which a base is added without rounding, in classes that overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    return np.round(rng.normal(size=(n, 3)) * 4 + y[:, None] * [3, -2, 1]) * 2, y


def file_of(folder, X, y, ending):
    """A file of rows; of Parquet, in float32."""
    path = folder / f"rows.{ending}"
    if ending == "parquet":
        columns = {name: X[:, j].astype(np.float32) for j, name in enumerate(NAMES)}
        pq.write_table(pa.table(columns | {"y": y}), path)
        return path
    text = [[repr(float(x)) for x in row] for row in X]
    if ending == "svm":
        lines = [
            f"{k} " + " ".join(f"{j}:{cell}" for j, cell in enumerate(cells, 1))
            for k, cells in zip(y, text, strict=True)
        ]
    else:
        lines = ["a,b,c,y", *(",".join([*row, str(k)]) for row, k in zip(text, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_tables(tmp_path, kind, classes, ending):
    base = 1.7e15 if ending == "csv" else 2.0**22
    X, y = rows(classes)
    near = kind().fit(X, y)
    path = file_of(tmp_path, X + base, y, ending)
    model = kind().fit(linsep.open_source(path, target="y"))
    cells = [dict(zip(NAMES, row, strict=True)) for row in (X + base).tolist()]
    shares, labels = near.predict_proba(X), near.predict(X).tolist()
    onnx = of_onnx(export(model, tmp_path / "m.onnx"), cells, NAMES)
    assert onnx[0].tolist() == labels
    assert onnx[1] == pytest.approx(shares, abs=1e-9)
    made = module(export(model, tmp_path / "m.py"))
    found = [list(made["probabilities"](row).values()) for row in cells]
    assert np.array(found) == pytest.approx(shares, abs=1e-9)
    assert [made["predict"](row) for row in cells] == labels
    assert of_json(export(model, tmp_path / "m.json"), cells) == labels
    columns = dict.fromkeys(NAMES, float)
    for lines in of_databases(export(model, tmp_path / "m.sql"), columns, cells):
        assert [line["linsep_prediction"] for line in lines] == labels
        ends = ["linsep_probability"] if classes == 2 else [
            f"linsep_probability_{k + 1}" for k in range(classes)
        ]  # fmt: skip
        found = np.array([[line[end] for end in ends] for line in lines])
        assert found == pytest.approx(shares[:, 1:] if classes == 2 else shares, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_svmlight_and_arrays(tmp_path, kind):
    X, y = rows(2)
    shares, far = kind().fit(X, y).predict_proba(X), X + 1e14
    path = file_of(tmp_path, far, y, "svm")
    for number, model in enumerate(
        (
            kind().fit(linsep.open_source(path)),
            kind().fit(far, y),
            kind().fit(sp.csr_matrix(far), y),
        )
    ):
        first = 1 if number == 0 else 0
        assert of_onnx(export(model, tmp_path / f"{number}.onnx"), far)[1] == pytest.approx(
            shares, abs=1e-9
        )
        made = module(export(model, tmp_path / f"{number}.py"))
        cells = [dict(enumerate(row, first)) if first else row for row in far.tolist()]
        found = [list(made["probabilities"](row).values()) for row in cells]
        assert np.array(found) == pytest.approx(shares, abs=1e-9)


def test_linear_regression(tmp_path):
    X, _ = rows(2)
    y = X @ [1.0, -2.0, 0.5] + np.arange(120) % 7
    model = LinearRegression().fit(X + 1.7e15, y)
    expected = LinearRegression().fit(X, y).predict(X)
    assert model.predict(X + 1.7e15) == pytest.approx(expected, abs=1e-9)
    found = of_onnx(export(model, tmp_path / "m.onnx"), X + 1.7e15)
    assert found[0] == pytest.approx(expected, abs=1e-9)
    made = module(export(model, tmp_path / "m.py"))
    assert [made["predict"](row) for row in (X + 1.7e15).tolist()] == pytest.approx(
        expected.tolist(), abs=1e-9
    )


def test_classes_far_apart_are_exported_whole_or_not_at_all(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 1)) + np.array([[0.0], [4.0], [1e8]])[y]
    model = GaussianNaiveBayes().fit(X, y)
    label, shares = of_onnx(export(model, tmp_path / "m.onnx"), X)
    assert label.tolist() == model.predict(X).tolist()
    assert shares == pytest.approx(model.predict_proba(X), abs=1e-7)
    y = np.repeat([0, 1, 2, 3], 50)
    X = rng.normal(size=(200, 1)) + np.array([[0.0], [4.0], [1e8], [1e8 + 4]])[y]
    model = GaussianNaiveBayes().fit(X, y)
    with pytest.raises(ExportError, match="Some classes of this GaussianNaiveBayes are so far"):
        export(model, tmp_path / "n.onnx")
