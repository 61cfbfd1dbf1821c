"""The sentences of errors: one small case a code, recorded in messages.json, where a change of
wording is one reviewed difference. ``LINSEP_RECORD=1`` records them again.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import linsep
from documents import CODES
from linsep import KernelPerceptron, LinearRegression, LogisticRegression, Perceptron, kernels
from linsep.errors import LinsepError
from linsep.lab import lab_file

RECORDED = Path(__file__).with_name("messages.json")
#: codes of servers, clusters, remote files, the lab and the system, whose cases are in their tests
ELSEWHERE = {
    "access-denied", "bad-request", "bad-url", "bug", "cannot-read", "cannot-write", "cluster",
    "file-changed", "in-use", "not-converged", "unreachable", "unsafe", "other-version",
}  # fmt: skip
FILES = {
    "t.csv": "a,b,y\n1,2,0\n3,5,1\n4,5,1\n2,2,0\n", "gap.csv": "a,b,y\n1,2,0\n3,,1\n4,5,1\n",
    "word.csv": "a,y\n" + "1,0\n2,1\n" * 40000 + "x,0\n", "wide.csv": "a,y\n1,0\n2,1,3\n",
    "twice.csv": "a,a,y\n1,2,0\n2,3,1\n", "label.csv": "y\n0\n1\n", "empty.csv": "a,y\n",
    "inf.csv": "a,y\n1,0\ninf,1\n",
    "weight.csv": "a,w,y\n1,-1,0\n2,1,1\n", "kind.csv": "k,y\nu,0\nv,1\nu,0\nv,1\n",
    "day.csv": "d,y\n2025-01-31,0\n2025-02-01,1\n", "t.svm": "0 1:1\n1 2:1\n",
    "bad.svm": "0 1:1\n1 x\n", "sheet.xlsx": "PK\x03\x04", "latin.csv": b"a,y\nK\xf6ln,0\n",
    "cut.parquet": "PAR1",
}  # fmt: skip
X, Y = np.array([[0.0, 1], [1, 3], [2, 1], [3, 2]]), [0, 1, 0, 1]
CASES = {
    "bad-argument": lambda: linsep.separation("t.csv"),
    "bad-checkpoint": lambda: Perceptron().fit(X, Y, checkpoint="t.csv"),
    "bad-formula": lambda: linsep.fit("t.csv", formula="y ~ a +"),
    "bad-hypothesis": lambda: LinearRegression().fit(X, [1, 2, 4, 3]).wald_test("x0 = x0"),
    "bad-kernel": lambda: KernelPerceptron(kernel=lambda x, z: 1 / 0).fit(X, Y),
    "bad-line": lambda: linsep.fit("bad.svm"),
    "bad-model-file": lambda: linsep.load("t.csv"),
    "bad-option": lambda: Perceptron(keep="none").fit(X, Y),
    "bad-proof": lambda: linsep.from_json("{}"),
    "bad-scene": lambda: lab_file("spam=1"),
    "bad-value": lambda: kernels.Spectrum(2)("abc"),
    "class-count": lambda: Perceptron().fit(X, [0, 0, 0, 0]),
    "column-role": lambda: linsep.open_source("t.csv", target="y", exclude=["y"]),
    "column-type": lambda: linsep.fit("day.csv", target="y"),
    "conflict": lambda: linsep.fit("t.csv", target="y", formula="y ~ a"),
    "damaged-file": lambda: linsep.fit("cut.parquet", target="y"),
    "duplicate-name": lambda: linsep.fit("twice.csv", target="y"),
    "encoding": lambda: linsep.fit("latin.csv", target="y"),
    "field-count": lambda: linsep.fit("wide.csv", target="y"),
    "file-exists": lambda: linsep.save(Perceptron().fit(X, Y), "t.csv"),
    "label-type": lambda: Perceptron().fit(X, [b"a", b"b", b"a", b"b"]),
    "missing-package": lambda: linsep.export(Perceptron().fit(X, Y), "m.onnx"),
    "missing-value": lambda: linsep.fit("gap.csv", target="y"),
    "mixed-formats": lambda: linsep.fit(["t.csv", "t.svm"], target="y"),
    "needs-option": lambda: linsep.set_threshold(Perceptron().fit(X, Y), "f1"),
    "no-columns": lambda: linsep.fit("label.csv", target="y"),
    "no-estimate": lambda: LinearRegression().fit(X, X[:, 0]).wald_test("x0 = 0"),
    "no-file": lambda: linsep.fit("none.csv", target="y"),
    "no-labels": lambda: linsep.fit("t.csv", formula="~ a"),
    "no-rows": lambda: linsep.fit("empty.csv", target="y"),
    "not-a-file": lambda: linsep.save(Perceptron().fit(X, Y), "folder"),
    "not-a-number": lambda: linsep.fit("word.csv", target="y"),
    "not-exact": lambda: Perceptron().fit([[2**53 + 1], [1]], [0, 1]),
    "not-finite": lambda: linsep.fit("inf.csv", target="y"),
    "other-model": lambda: linsep.compare(*[LinearRegression().fit(X, [1, 2, 4, 3])] * 2),
    "other-rows": lambda: Perceptron().fit(X, Y).bounds(X[:3], Y[:3]),
    "out-of-range": lambda: linsep.fit("weight.csv", target="y", weight="w"),
    "overflow": lambda: Perceptron().fit(X * 1e200, Y),
    "separated": lambda: LogisticRegression(on_separation="raise").fit(X[:, :1], [0, 0, 1, 1]),
    "shape": lambda: linsep.functional_margin(Perceptron().fit(X, Y), X[:, :1], Y),
    "too-few-rows": lambda: linsep.fit("t.csv", target="y", cv=9),
    "too-large": lambda: linsep.fit("t.svm", max_line=4),
    "undefined": lambda: linsep.score(Perceptron().fit(X, Y), (X, [1] * 4), metrics=["roc_auc"]),
    "unknown-column": lambda: linsep.fit("t.csv", target="z"),
    "unknown-label": lambda: LogisticRegression(reference=7).fit(X, Y),
    "unknown-value": lambda: linsep.fit("kind.csv", target="y", reference_level={"k": "w"}),
    "unsupported": lambda: linsep.export(KernelPerceptron().fit(X, Y), "m.sql"),
    "wrong-format": lambda: linsep.fit("sheet.xlsx", target="y"),
}


@pytest.mark.filterwarnings("ignore")
def test_sentences_of_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    for name, text in FILES.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    Path("folder").mkdir()
    found, codes = {}, {}
    for code, case in CASES.items():
        try:
            case()
        except LinsepError as error:
            found[code], codes[code] = str(error).replace(str(tmp_path), "."), error.code
    assert codes == {code: code for code in CASES}
    assert CASES.keys() == CODES - ELSEWHERE
    if os.environ.get("LINSEP_RECORD"):
        RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found == json.loads(RECORDED.read_text("utf-8"))
