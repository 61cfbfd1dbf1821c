"""The README and the pages are true: their commands and Python run, and print what they say."""

import csv
import doctest
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from documents import ROOT, payments, reviews, run_commands, run_python
from linsep import PassiveAggressive, Text
from linsep.catalog import LEARNERS
from thoroughness import THOROUGH

pytestmark = pytest.mark.compiled
DOCS = ROOT / "docs"
#: pages that are not of the site
OUTSIDE = ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT")
#: relative links, headings, and what looks like them in code
TO = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


def program(name):
    """A function that lets a program of docs/ write its data into a folder."""
    return lambda folder: subprocess.run([sys.executable, DOCS / name, folder], check=True)


def demo(folder):
    (folder / "demo").mkdir()
    program("demo_data.py")(folder / "demo")


def docs(folder):
    shutil.copytree(DOCS, folder / "docs")


#: pages by what writes their data, with the number of their commands, and whether they have Python
PAGES = [
    ("docs/how-to/metrics.md", demo, 2, True),
    ("docs/how-to/rare-classes.md", payments, 9, True),
    ("docs/start/churn.md", program("churn_data.py"), 5, True),
    ("docs/how-to/formulas.md", None, 2, True),
    ("docs/start/first-class.md", None, 1, False),
    *((f"docs/{name}.md", None, 0, True) for name in (
        "how-to/regressions", "how-to/weights", "explanation/how-far-from-separable",
        "notebooks/teachers", "reference/numerical-accuracy", "reference/not-handled",
    )),
]  # fmt: skip
#: those that take long
SLOW = [
    ("docs/explanation/soft-margin.md", demo, 5, True),
    ("docs/how-to/one-pass.md", reviews, 5, True),
    ("docs/explanation/lecture-notes.md", None, 14, True),
    ("docs/how-to/from-vowpal-wabbit.md", None, 4, True),
    ("docs/how-to/files.md", program("files_data.py"), 7, True),
    ("docs/explanation/learners.md", None, 0, True),
    ("docs/how-to/trace.md", docs, 4, True),
    ("docs/how-to/coming-from.md", docs, 0, True),
    ("docs/start/separated-data.md", docs, 4, False),
    ("docs/start/first-model.md", docs, 7, True),
]


@pytest.mark.filterwarnings("ignore:.* not seen in training")  # of small folds
@pytest.mark.parametrize(
    ("page", "write", "commands", "python"),
    [*PAGES, *(pytest.param(*page, marks=pytest.mark.thorough) for page in SLOW)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_code_of_a_page_gives_what_it_says(page, write, commands, python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if write is not None:
        write(tmp_path)
    first = page.endswith(("formulas.md", "lecture-notes.md"))  # write the files of their commands
    if first:
        assert run_python(page) > 25
    assert run_commands(page, tmp_path) == commands
    assert not python or first or run_python(page) > 2


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory):
    """A folder with docs/ and the data of the demo."""
    folder = tmp_path_factory.mktemp("clone")
    docs(folder)
    demo(folder)
    return folder


def test_commands_of_pages_that_follow_each_other(surroundings, monkeypatch):
    monkeypatch.chdir(surroundings)
    assert run_python("README.md") > 3
    assert run_commands("README.md", surroundings) == 5
    assert run_commands("docs/reference/command-line.md", surroundings) >= 11
    if not THOROUGH:
        return
    assert run_commands("docs/reference/file-formats.md", surroundings) == 1
    assert run_commands("docs/explanation/training.md", surroundings) == 2
    (surroundings / "digits.linsep").rename(surroundings / "demo" / "digits.linsep")
    assert run_commands("docs/gallery/index.md", surroundings) == 3
    assert run_commands("docs/how-to/tune.md", surroundings) == 5


@pytest.mark.thorough
def test_commands_about_bounds_and_separation(surroundings):
    assert run_commands("docs/explanation/bounds.md", surroundings) == 1
    iris = load_iris(as_frame=True).frame[50:].rename(columns={"target": "species"})
    iris.to_csv(surroundings / "two.csv", index=False)
    assert run_commands("docs/explanation/separation.md", surroundings) == 2
    assert run_commands("docs/reference/proofs.md", surroundings) == 1


@pytest.mark.thorough
def test_weights_are_those_of_river():
    """As docs/how-to/coming-from.md says."""
    river = pytest.importorskip("river.linear_model")
    X, y = load_breast_cancer(return_X_y=True)
    theirs, right = river.PAClassifier(C=1.0, mode=1), 0
    for row, label in zip(X, y == 1, strict=True):
        right += theirs.predict_one(dict(enumerate(row))) == label
        theirs.learn_one(dict(enumerate(row)), label)
    ours = PassiveAggressive(C=1.0, max_iter=1, shuffle=False).fit(X, y)
    assert np.allclose([theirs.weights[j] for j in range(30)], ours.coef_[0])
    assert right / len(y) == ours.progressive_accuracy_


@pytest.mark.thorough
def test_the_page_on_exports(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    assert run_commands("docs/how-to/export.md", tmp_path) == 6
    monkeypatch.chdir(tmp_path)
    assert run_python("docs/how-to/export.md") > 20


def test_links_lead_to_pages_and_headings():
    def anchor(heading):
        return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")

    pages = [ROOT / f"{name}.md" for name in OUTSIDE] + sorted(DOCS.glob("*/*.md"))
    texts = {page: page.read_text("utf-8") for page in pages}
    heads = {page: set(map(anchor, HEADING.findall(text))) for page, text in texts.items()}
    found = [(page, *link) for page in pages for link in TO.findall(CODE.sub("", texts[page]))]
    assert len(found) > 300
    for page, name, heading in found:
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), (page.name, name)
        assert not heading or target not in heads or heading in heads[target], (page.name, heading)


def test_every_line_of_the_lecture_notes():
    page = (DOCS / "explanation" / "lecture-notes.md").read_text("utf-8")
    section, known = page[page.index("## Line by line") :], {}
    exec(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1], known)
    rows = re.findall(r"^\| N\d \| (.*?) \| `(.*?)` \| `(.*)` \|$", section, re.MULTILINE)
    assert len(rows) == 119
    for line, call, shown in rows:
        assert repr(eval(call, known)) == shown, line


@pytest.mark.uncompiled
@pytest.mark.parametrize("module", ["", "plot."])
def test_examples_in_docstrings(module):
    names = [
        "animation", "palettes", "separation",
    ] if module else [
        "descent", *sorted({kind.__module__.removeprefix("linsep.") for kind in LEARNERS.values()}),
        "linear.estimator", "logistic.estimator", "naive_bayes", "mistake_bounds.adversary",
        "bounding", "scoring.scores", "chance.asymptotics", "chance.counting",
        "separating", "mistake_bounds.margins", "teaching.convergence", "teaching.criterion",
        "teaching.deviations",
        "teaching.reflection", "exports.sklearn_onnx", "soft_margins.path",
        "soft_margins.total_distance",
    ]  # fmt: skip
    for name in names:
        result = doctest.testmod(import_module(f"linsep.{module}{name}"))
        assert result.attempted > 0, name
        assert result.failed == 0, name


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_the_demo_runs(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "docs/demo.sh", tmp_path / "demo"], cwd=ROOT, capture_output=True, text=True,
        check=False, env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^test +95\.32% ", done.stdout, re.M)  # as in the README
    assert len((tmp_path / "demo" / "labels.txt").read_text().split()) == 449


def messages(shared_data):
    with gzip.open(shared_data / "text" / "sms_spam.tsv.gz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [row for k, row in enumerate(rows) if k % 5], rows[::5]


@pytest.mark.thorough
def test_commands_on_texts(shared_data, tmp_path):
    for name, rows in zip(("sms", "sms-test"), messages(shared_data), strict=True):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["kind", "message"], *rows])
    for k, (kind, text) in enumerate(messages(shared_data)[0][:500]):
        for path in (tmp_path / "mails" / kind / f"{k}.txt", tmp_path / "inbox" / f"{k}.txt"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    assert run_commands("docs/how-to/text.md", tmp_path) == 5


def right_on_texts(learned, held_out, text, **parameters):
    (y, texts), (y_test, test) = (zip(*rows, strict=True) for rows in (learned, held_out))
    model = PassiveAggressive(C=0.3, keep="average", max_iter=10, **parameters)
    model.fit(text.fit_transform(texts), np.array(y))
    return round(100 * model.score(text.transform(test), np.array(y_test)), 2)


@pytest.mark.thorough
def test_the_table_on_texts(shared_data):
    def cell(choice, column):
        lines = (DOCS / "how-to/text.md").read_text("utf-8").splitlines()
        (line,) = (line for line in lines if line.startswith(f"| {choice} |"))
        return float(line.split("|")[column + 2])

    other = "LinearSVC of scikit-learn on TfidfVectorizer's words"
    found = right_on_texts(*messages(shared_data), Text(analyzer="char_wb", ngram_range=(2, 5)))
    assert found == cell("`--analyzer char_wb --ngrams 2-5`", 1)
    assert found > cell(other, 0)
    parts = []
    for part in ("train", "test"):
        with gzip.open(shared_data / "text" / f"20news.{part}.jsonl.gz", "rt") as lines:
            parts.append([(one["group"], one["text"]) for one in map(json.loads, lines)])
    text = Text(sublinear_tf=True, use_idf=True)
    found = right_on_texts(*parts, text, multiclass="ovr")
    assert found == cell("`--sublinear --tf-idf`", 3)
    assert found > cell(other, 2)
