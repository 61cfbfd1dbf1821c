"""``linsep serve`` as a process: signals and refusals; and answers, which are those of ``linsep
predict`` for the same rows, whatever format they have."""

import csv
import io
import json
import os
import signal
import socket
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine

import linsep
import linsep.serving
from command_line import assert_refused, here
from served import TOKEN, Client, Forked, serving

X = [[4.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-2.0, -2.0]]


def fitted(folder, labels="+--+", **how):
    model = linsep.Perceptron(shuffle=False, **how).fit(X, list(labels))
    return linsep.save(model, folder / "m.linsep", force=True)


@pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX")
def test_requests_in_flight_finish_and_rows_stay(tmp_path):
    fitted(tmp_path)
    words = ("serve", "m.linsep", "--log", "rows.log", "--port", 0)
    with Forked(*words, cwd=tmp_path, LINSEP_TOKEN=TOKEN) as server:
        lines = server.started(4)
        assert "log      rows.log, 0 rows learned" in lines
        assert TOKEN not in lines
        client = Client(int(lines.splitlines()[0].rstrip("/").rpartition(":")[2]), TOKEN)
        assert client.learn(["a"], X[:1], ["+"])["rows"] == 1
        os.kill(server.pid, signal.SIGHUP)  # a model with a log is never replaced
        body = json.dumps({"ids": ["b"], "rows": X[1:2], "labels": ["+"]}).encode()
        with client.raw() as slow:
            head = f"POST /learn HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            slow.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:9])
            client.get("/health")  # the head of the slow one has been read before
            os.kill(server.pid, signal.SIGTERM)
            refused_soon(client.port)
            slow.sendall(body[9:])
            answer = b"".join(iter(lambda: slow.recv(10_000), b""))
        client.close()
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b'{"learned":1,"duplicates":0,"rows":2}')
        assert server.waited() == (0, "", "")
    with Forked("serve", "m.linsep", "--port", 0, cwd=tmp_path) as server:
        assert server.started(3).endswith("Ctrl-C ends it\n")
        assert server.ended(signal.SIGINT) == (0, "", "")


def refused_soon(port):
    """Wait until nobody listens any more."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("the server still listens")


def test_what_is_refused(tmp_path, monkeypatch):
    fitted(tmp_path)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    strings = linsep.KernelPerceptron(kernel=linsep.kernels.Spectrum(2))
    linsep.save(strings.fit(["aaaa", "bbbb"], [0, 1]), tmp_path / "strings.linsep")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words, code, exit_code in [
            (["none.linsep"], "no-file", 1),
            (["data.csv"], "bad-model-file", 1),
            (["strings.linsep"], "unsupported", 1),
            (["m.linsep", "--host", "0.0.0.0"], None, 2),
            (["m.linsep", "--log", "l"], None, 2),
            (["m.linsep", "--token", "short"], None, 2),
            (["m.linsep", "--port", port], None, 2),
            (["m.linsep", "--max-body", "many"], None, 2),
            (["m.linsep", "--max-rows", "0"], None, 2),
            (["m.linsep", "--log", "data.csv", "--token", TOKEN], "damaged-file", 1),
            (["m.linsep", "--log", "no/l", "--token", TOKEN], "no-file", 1),
        ]:
            before = sorted(os.listdir(tmp_path))
            done = here("serve", *words, cwd=tmp_path)
            assert done.returncode == exit_code, (words, done.stderr)
            assert code is None or done.stderr.endswith(f"[{code}]\n"), done.stderr
            assert set(os.listdir(tmp_path)) - set(before) <= {"data.csv.lock"}
    monkeypatch.delitem(sys.modules, "linsep.serving.server", raising=False)
    monkeypatch.delitem(vars(linsep.serving), "Server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert_refused("serve", "m.linsep", cwd=tmp_path, code="missing-package")


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
    iris.iloc[::7, 1] = np.nan
    iris.to_csv(folder / "iris.csv", index=False)
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
    "text-columns": ("iris.csv", "--target", "species", "--multiclass", "ovr", "--missing", "mean"),
    "hashed": ("iris.csv", "--target", "species", "--hash-bits", "5", "--missing", "zero"),
    "words": ("words.csv", "--target", "kind", "--text", "text"),
    "naive-bayes": ("wine.csv", "--target", "target", "--learner", "naive-bayes"),
    "linear": ("diabetes.csv", "--target", "target", "--learner", "linear"),
    "kernel": ("wine.csv", "--target", "target", "--learner", "kernel", "--kernel", "rbf"),
    "svmlight": ("rows.svm", "--normalize"),
    "vw": ("rows.vw", "--hash-bits", "10"),
}


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


def table_rows(text):
    rows = csv.DictReader(io.StringIO(text.decode()))
    return [{k: values_of(k, v) for k, v in row.items()} for row in rows]


@pytest.mark.parametrize("fit", FITS)
def test_the_answers_of_predict(folder, fit):
    data, *options = FITS[fit]
    done = here("fit", data, *options, "--model", f"{fit}.linsep", "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = here("predict", f"{fit}.linsep", data, "--json", cwd=folder)
    expected = [json.loads(line) for line in done.stdout.splitlines()]
    labels = [line["prediction"] for line in expected]
    ask = "?scores" if "scores" in expected[0] else ""
    text = (folder / data).read_bytes()
    with serving(folder / f"{fit}.linsep") as client:
        alone = {"predictions": []}
        if data.endswith(".csv"):
            rows = table_rows(text)
            known = [column["name"] for column in client.get("/model")["columns"]]
            lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
            answers = [
                client.predict(rows, ask),
                client.predict([[row[name] for name in known] for row in rows], ask),
                client.post(f"/predict{ask}", text, "text/csv"),
                client.post(f"/predict{ask}", lines, "application/jsonl"),
                client.post(f"/predict{ask}", arrow(text), ARROW),
            ]
            alone = one_by_one(client, rows[:20], ask)
        else:
            lines = text.decode().splitlines()
            answers = [
                client.post(f"/predict{ask}", text, "text/plain"), client.predict(lines, ask)
            ]  # fmt: skip
        if data.endswith(".svm"):
            rows = [dict(pair.split(":") for pair in line.split()[1:]) for line in lines]
            rows = [{k: float(v) for k, v in row.items()} for row in rows]
            answers.append(client.predict(rows, ask))
            every = [[row.get(str(j), 0) for j in range(1, 10)] for row in rows]
            answers.append(client.predict(every, ask))
    for answer in answers:
        assert answer["predictions"] == labels
        if ask:
            assert answer["scores"] == [line["scores"] for line in expected]
    # BLAS sums the products of a single row in another order than those of many.
    near = {"rel": 1e-11}
    many = len(alone["predictions"])
    if fit == "linear":
        assert alone["predictions"] == pytest.approx(labels[:many], **near)
    else:
        assert alone["predictions"] == labels[:many]
    if ask and many:
        wanted = np.array([line["scores"] for line in expected[:many]])
        assert np.array(alone["scores"]) == pytest.approx(wanted, **near)


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
        found = client.predict(table_rows(text)[:2], "?explanations=true")["explanations"]
    for number, explanation in enumerate(found, 1):
        audited = here("audit", "wine.linsep", "wine.csv", "--row", number, "--json", cwd=folder)
        audited = json.loads(audited.stdout)
        del audited["row"], audited["prediction"]
        assert (audited.pop("unknown_values"), audited.pop("values_filled")) == ({}, {})
        numbers = {name: pytest.approx(audited[name], abs=1e-13) for name in ("score", "rounding")}
        assert explanation == audited | numbers  # of products of other batches
