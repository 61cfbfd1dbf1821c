"""A server answers what ``linsep predict`` prints for the same rows, whatever format they have."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine

import linsep
from command_line import here
from served import serving

WORDS = ["free money now", "meeting at noon", "cheap offer, free", "lunch at noon?", "", "noon"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data files, each with the columns that make reading it a recipe."""
    folder = tmp_path_factory.mktemp("served")
    wine, iris = load_wine(as_frame=True).frame, load_iris(as_frame=True).frame
    wine.to_csv(folder / "wine.csv", index=False)
    iris["color"] = [("red", "blue", "green")[k % 3] for k in range(150)]
    iris["big"] = iris["petal length (cm)"] > 4
    iris["species"] = iris.pop("target").map(dict(enumerate("svi")))
    iris.to_csv(folder / "iris.csv", index=False)
    gaps = iris.drop(columns=["color", "big"])
    gaps.iloc[::7, 1] = np.nan
    gaps.to_csv(folder / "gaps.csv", index=False)
    load_diabetes(as_frame=True).frame.iloc[:60].to_csv(folder / "diabetes.csv", index=False)
    with (folder / "words.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "length", "kind")] + [
            (text, len(text), "spam" if "free" in text else "ham") for text in WORDS * 4
        ])  # fmt: skip
    rng = np.random.default_rng(0)
    pairs = [" ".join(f"{j + 1}:{rng.normal():.3f}" for j in sorted(rng.choice(9, 4, False)))
             for _ in range(60)]  # fmt: skip
    lines = [f"{1 if '3:' in line else -1} {line}\n" for line in pairs]
    (folder / "rows.svm").write_text("".join(lines))
    lines = [f"{1 if '3:' in line else -1} |a {line} |b word{k % 5}\n"
             for k, line in enumerate(pairs)]  # fmt: skip
    (folder / "rows.vw").write_text("".join(lines))
    return folder


FITS = {
    "scaled": ("wine.csv", "--target", "target", "--keep", "average"),
    "text-columns": ("iris.csv", "--target", "species", "--multiclass", "ovr"),
    "hashed": ("iris.csv", "--target", "species", "--hash-bits", "5"),
    "means": ("gaps.csv", "--target", "species", "--missing", "mean"),
    "words": ("words.csv", "--target", "kind", "--text", "text"),
    "logistic": ("iris.csv", "--target", "color", "--learner", "logistic", "--exclude", "species"),
    "naive-bayes": ("wine.csv", "--target", "target", "--learner", "naive-bayes"),
    "naive-bayes by class": (
        "wine.csv", "--target", "target", "--learner", "naive-bayes", "--variances", "by_class",
    ),
    "linear": ("diabetes.csv", "--target", "target", "--learner", "linear"),
    "kernel": ("wine.csv", "--target", "target", "--learner", "kernel", "--kernel", "rbf"),
    "svmlight": ("rows.svm", "--normalize"),
    "vw": ("rows.vw", "--hash-bits", "10"),
}  # fmt: skip


def values_of(name, text):
    """A cell as JSON has it."""
    if text == "":
        return "" if name == "text" else None
    if text in ("True", "False"):
        return text == "True"
    try:
        return float(text)
    except ValueError:
        return text


@pytest.mark.compiled
@pytest.mark.parametrize("fit", FITS)
def test_the_answers_of_predict(folder, fit):
    data, *options = FITS[fit]
    done = here("fit", data, *options, "--model", f"{fit}.linsep", "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = here("predict", f"{fit}.linsep", data, "--json", cwd=folder)
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    labels = [line["prediction"] for line in expected]
    scored = "scores" in expected[0]
    text = (folder / data).read_bytes()
    with serving(folder / f"{fit}.linsep") as client:
        answers = []
        ask = "?scores" if scored else ""
        if data.endswith(".csv"):
            rows = list(csv.DictReader(io.StringIO(text.decode())))
            rows = [{k: values_of(k, v) for k, v in row.items()} for row in rows]
            answers.append(client.predict(rows, ask))
            answers.append(one_by_one(client, rows[:40], ask))
            answers.append(client.post(f"/predict{ask}", text, "text/csv"))
            lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
            answers.append(client.post(f"/predict{ask}", lines, "application/jsonl"))
            answers.append(client.post(f"/predict{ask}", arrow(text), ARROW))
            known = [column["name"] for column in client.get("/model")["columns"]]
            lists = [[row[name] for name in known] for row in rows]
            answers.append(client.predict(lists, ask))
        else:
            answers.append(client.post(f"/predict{ask}", text, "text/plain"))
            answers.append(client.predict(text.decode().splitlines(), ask))
        if data.endswith(".svm"):
            rows = [dict(pair.split(":") for pair in line.split()[1:])
                    for line in text.decode().splitlines()]  # fmt: skip
            rows = [{k: float(v) for k, v in row.items()} for row in rows]
            answers.append(client.predict(rows, ask))
            answers.append(client.predict([[row.get(str(j), 0) for j in range(1, 10)]
                                           for row in rows], ask))  # fmt: skip
    for answer in answers:
        # BLAS sums the products of a single row in another order than those of many.
        near = (
            fit in ("logistic", "naive-bayes", "naive-bayes by class", "linear", "kernel")
            and answer is answers[1]
        )
        same = (lambda x: pytest.approx(np.array(x), rel=1e-11)) if near else (lambda x: x)
        many = len(answer["predictions"])
        assert answer["predictions"] == (same if fit == "linear" else list)(labels[:many])
        if scored:
            assert answer["scores"] == same([line["scores"] for line in expected[:many]])


ARROW = "application/vnd.apache.arrow.stream"


def arrow(text):
    table = pyarrow.csv.read_csv(io.BytesIO(text))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def one_by_one(client, rows, ask):
    found = [client.predict([row], ask) for row in rows]
    return {name: [answer[name][0] for answer in found]
            for name in found[0] if name in ("predictions", "scores")}  # fmt: skip


@pytest.mark.compiled
def test_the_explanations_of_audit_and_probabilities_of_predict(folder):
    here("fit", "wine.csv", "--target", "target", "--learner", "naive-bayes",
         "--model", "wine.linsep", cwd=folder)  # fmt: skip
    done = here("predict", "wine.linsep", "wine.csv", "--json", "--probabilities", cwd=folder)
    expected = [json.loads(line)["probabilities"] for line in done.stdout.splitlines()]
    text = (folder / "wine.csv").read_bytes()
    with serving(folder / "wine.linsep") as client:
        answer = client.post("/predict?probabilities=true", text, "text/csv")
        assert answer["probabilities"] == expected
        assert answer["classes"] == [0, 1, 2]
        rows = list(csv.DictReader(io.StringIO(text.decode())))[:3]
        rows = [{name: float(value) for name, value in row.items()} for row in rows]
        found = client.predict(rows, "?explanations=true")["explanations"]
    for number, explanation in enumerate(found, 1):
        audited = here("audit", "wine.linsep", "wine.csv", "--row", number, "--json", cwd=folder)
        audited = json.loads(audited.stdout)
        del audited["row"], audited["prediction"]
        assert (audited.pop("unknown_values"), audited.pop("values_filled")) == ({}, {})
        assert explanation == audited


def test_models_of_arrays(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = linsep.Perceptron(max_iter=5).fit(X, y)
    path = linsep.save(model, tmp_path / "m.linsep")
    with serving(path) as client:
        answer = client.predict(X.tolist(), "?scores=1")
        assert answer["predictions"] == model.predict(X).tolist()
        assert answer["scores"] == model.decision_function(X).tolist()
        assert client.refused("/predict", b"a,b\n1,2\n", "text/csv")[0] == 415
        status, why = client.refused("/predict", {"rows": [{"a": 1}]})
        assert (status, "rows[0] is" in why) == (422, True)
        # A fault in one row names it, and the others' request is another.
        assert "rows[1], column 'feature 3' has no value" in client.refused(
            "/predict", {"rows": [[1, 2, 3, 4], [1, 2, 3, None]]}
        )[1]  # fmt: skip
        # Another thread takes large bodies, to the same answer.
        many = X.tolist() * 20
        assert client.predict(many)["predictions"] == model.predict(X).tolist() * 20
