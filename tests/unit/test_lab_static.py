"""The lab as a folder of files: its Python answers as the server does, without the library."""

import io
import json
import subprocess
import sys
import zipfile

import pytest

from linsep.errors import DataError, LinsepError
from linsep.lab import static
from linsep.lab.certificate import certified
from linsep.lab.scene import checked_scene
from linsep.lab.scene_sources import ready_made
from refusals import refused
from same_answers import differences, messages
from thoroughness import THOROUGH

pytestmark = pytest.mark.uncompiled

FOREIGN = "numpy", "scipy", "sklearn", "numba", "rich", "pyarrow", "flint", "click", "panel"
ANSWERS = f"""
import json, sys
sys.modules.update(dict.fromkeys({FOREIGN!r}))  # importing None is an ImportError
sys.path.insert(0, sys.argv[1])
from linsep.lab.answer import answer
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line)), allow_nan=False))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The folder of what runs in a browser."""
    folder = tmp_path_factory.mktemp("sources")
    zipfile.ZipFile(io.BytesIO(static.zipped())).extractall(folder)
    return folder


def asked(sources, *questions):
    """What the sources answer in a process without other packages."""
    lines = "".join(json.dumps(one) + "\n" for one in questions)
    done = subprocess.run(
        [sys.executable, "-I", "-c", ANSWERS, str(sources)], input=lines, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_200_scenes_have_the_answers_of_the_server(sources):
    """The same modules without numpy; in a browser they meet another Python, and another libm."""
    known = messages(200 if THOROUGH else 60, most=120)
    answers = asked(sources, *(question for _, question in known))
    faults = [
        (question["scene"]["settings"]["learner"], question["kind"], found[:3])
        for (_, question), answer in zip(known, answers, strict=True)
        if (found := differences(True, question, answer))
    ]
    assert faults == []


def test_the_page_offers_what_it_can_do(sources):
    opened, line, many = asked(
        sources, {"kind": "open", "url": ""},
        {"kind": "open", "url": "#data=worked-line&room=line"},
        {"kind": "proof", "scene": {"points": [[k, k % 7, k % 3] for k in range(151)]}},
    )  # fmt: skip
    assert {lesson["name"] for lesson in opened["lessons"]} >= {"perceptron", "margin", "kernels"}
    assert "regression" not in {lesson["name"] for lesson in opened["lessons"]}
    assert {"room", "cost", "eta"}.isdisjoint(field["name"] for field in opened["fields"])
    assert "blood-pressure" not in {ready["name"] for ready in opened["ready"]}
    assert "The command linsep lab" in line["idle"]
    assert opened["offers"] == line["idle"]
    assert many["proof"]["verdict"]["kind"] == "undecided"
    assert "at most 150 points" in many["proof"]["verdict"]["sentences"][0]


def test_a_lesson_of_ones_own_comes_along(tmp_path):
    text = "# Mine\n\n## One\n[s](#data=xor)\n\nText.\n"
    zipfile.ZipFile(io.BytesIO(static.zipped(text))).extractall(tmp_path)
    (answer,) = asked(tmp_path, {"kind": "open", "url": ""})
    assert answer["lessons"][0] == {"name": "own", "title": "Mine"}


def test_the_folder_is_complete_small_and_names_its_licenses(tmp_path):
    pytest.importorskip("linsep_pyodide")
    size = static.write_static(tmp_path, ready_made("xor"))
    assert size == sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file())
    assert size <= 15_000_000
    licenses = (tmp_path / "licenses" / "README.md").read_text("utf-8")
    for name in ("Mozilla Public License 2.0", "Python Software Foundation", "MIT", "BSD-3-Clause"):
        assert name in licenses
    assert "http" not in (tmp_path / "worker.js").read_text("utf-8")
    page = (tmp_path / "index.html").read_text("utf-8")
    assert '"name":"xor"' in page


def test_without_pyodide_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(static, "find_spec", lambda name: None)
    with refused(LinsepError, "missing-package"):
        static.write_static(tmp_path, ready_made("xor"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["five-points", "xor", "inseparable", "iris-easy", "outlier"])
def test_proofs_are_read_by_both_checkers(name, tmp_path):
    import linsep

    found = certified(ready_made(name))
    (tmp_path / "proof.json").write_text(found["proof"])
    (tmp_path / "points.csv").write_text(found["points"])
    done = subprocess.run(
        [sys.executable, "-m", "linsep.check", "proof.json", "points.csv", "--target", "class"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == found["said"] + "\n"
    source = linsep.open_source(tmp_path / "points.csv", target="class")
    assert linsep.from_json(found["proof"]).verify(source).holds


def test_a_proof_is_of_two_classes():
    with refused(DataError, "class-count"):
        certified(ready_made("iris"))


def test_a_proof_of_almost_separable_points():
    points = [[0, 0, 0], [1, 0, 1], [2, 0, 0], [1, 1, 1], [5, 1, 1]]
    found = certified(checked_scene(points, "", ["b", "a"], ["class", "x2"], {}, 0))
    assert (found["target"], found["said"].splitlines()[1]) == (
        "label", "quasi-separable: b against a",
    )  # fmt: skip
    assert json.loads(found["proof"])["verdicts"][0]["boundary"] == [0, 1, 2]
