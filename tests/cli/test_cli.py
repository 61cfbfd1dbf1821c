"""The command line as people and scripts meet it: real processes, real files."""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import linsep
from command_line import assert_refused, here, on_a_terminal, run
from linsep.catalog import ESTIMATORS, LEARNERS, MARGINS
from linsep.cli.app import COMMANDS
from linsep.cli.learner_options import NOT_HERE
from linsep.learners.perceptron import Perceptron
from linsep.parameters import parameters_of

pytestmark = pytest.mark.compiled


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, (80, 3))
    kinds = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] - X[:, 1], [-2, 3])]
    with open(tmp_path / "t.csv", "w") as file:
        file.write("a,b,c,kind\n")
        file.writelines(f"{a},{b},{c},{k}\n" for (a, b, c), k in zip(X, kinds, strict=True))
    with open(tmp_path / "t.svm", "w") as file:
        for (a, b, c), k in zip(X, kinds, strict=True):
            file.write(f"{int(k == 'top')} 1:{a} 2:{b} 3:{c}\n")
    return tmp_path


def test_the_whole_job_on_a_table(folder):
    fit = ("fit", "t.csv", "--target", "kind", "--max-iter", 30, "--test", "new.csv")
    (folder / "new.csv").write_bytes((folder / "t.csv").read_bytes())
    learned = here(*fit, "--model", "m.linsep", cwd=folder)
    assert (learned.returncode, learned.stderr) == (0, "")
    assert learned.stdout.startswith("test ")
    for part in ("progressive", "training", "3 classes (low, mid, top)", "80 rows", "3 features",
                 "stopped", "m.linsep", "s, read ", " s, learn "):  # fmt: skip
        assert part in learned.stdout
    again = json.loads(here(*fit, "--json", cwd=folder).stdout)
    scored = json.loads(here("score", "m.linsep", "t.csv", "--json", cwd=folder).stdout)
    assert again["test"]["accuracy"] == scored["accuracy"] == again["training_accuracy"]
    assert f"{100 * scored['accuracy']:.2f}%" in learned.stdout
    assert sum(c["rows"] for c in scored["classes"]) == 80
    screen = here("score", "m.linsep", "t.csv", cwd=folder).stdout
    assert screen.startswith("accuracy")
    assert "recall" in screen
    predicted = here("predict", "m.linsep", "t.csv", cwd=folder).stdout.split()
    truth = [line.split(",")[3] for line in (folder / "t.csv").read_text().split()[1:]]
    right = np.mean(np.array(predicted) == truth)
    assert right == pytest.approx(scored["accuracy"])
    shown = here("inspect", "m.linsep", "--top", 1, cwd=folder).stdout
    assert "80 rows" in shown
    assert "low" in shown
    assert "intercept" in shown


def test_advice_is_for_those_who_type(folder):
    for more in (), ("--learner", "kernel"):
        done = here("fit", "t.csv", "--target", "kind", "--max-iter", 1, *more, cwd=folder)
        assert "stopped      max_iter: the maximum number of passes was reached" in done.stdout
        assert "linsep.separation" not in done.stdout
        assert ("`linsep separate` shows" in done.stdout) == (not more)


def test_unlabeled_rows_scores_and_output_files(folder):
    here("fit", "t.csv", "--target", "kind", "--scale", "none", "--model", "m", cwd=folder)
    (folder / "new.csv").write_text("c,b,extra,a\n0,-5,9,5\n0,5,9,-5\n")
    done = here("predict", "m", "new.csv", "--output", "p.txt", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "p.txt").read_text() == "top\nlow\n"
    assert_refused("predict", "m", "new.csv", "--output", "p.txt", cwd=folder, code="file-exists")
    lines = here("predict", "m", "new.csv", "--scores", cwd=folder).stdout.splitlines()
    model = linsep.load(folder / "m")
    scores = model.decision_function(pd.DataFrame([[5.0, -5, 0], [-5, 5, 0]], columns=list("abc")))
    assert [line.split("\t") for line in lines] == [
        [label, *map(repr, row)] for label, row in zip(["top", "low"], scores.tolist(), strict=True)
    ]
    objects = here("predict", "m", "new.csv", "--json", cwd=folder).stdout.splitlines()
    assert json.loads(objects[0]) == {"prediction": "top", "scores": scores[0].tolist()}
    assert_refused("score", "m", "new.csv", cwd=folder, code="unknown-column")


def test_svmlight_text_of_another_width(folder):
    here("fit", "t.svm", "--model", "m", cwd=folder)
    (folder / "wide.svm").write_text("0 1:1 999:5\n1 2:1\n")
    assert here("predict", "m", "wide.svm", cwd=folder).stdout.count("\n") == 2
    (folder / "zero.svm").write_text("0 0:1\n")
    assert_refused("predict", "m", "zero.svm", cwd=folder, code="out-of-range")
    assert_refused("score", "m", "t.csv", cwd=folder, code="wrong-format")


def test_the_same_command_learns_the_same_model(folder):
    for name, start in (("a", run), ("b", here)):
        start("fit", "t.svm", "--random-state", 5, "--model", name, cwd=folder)
    a, b = (linsep.load(folder / name) for name in "ab")
    assert np.array_equal(a.coef_, b.coef_)
    X = np.loadtxt(folder / "t.csv", delimiter=",", skiprows=1, usecols=range(3))
    y = [int(line.split()[0]) for line in (folder / "t.svm").read_text().splitlines()]
    model = Perceptron(max_iter=10, random_state=5, keep="average").fit(X, y)
    assert np.array_equal(model.coef_, a.coef_)


def test_options_reach_the_learner(folder):
    given = ["--multiclass", "ovo", "--no-fit-intercept", "--max-iter", "3", "--no-shuffle",
             "--learning-rate", "0.5", "--early-stopping", "--validation-fraction", "0.3",
             "--n-iter-no-change", "2", "--tie", "positive", "--class-weight", "top=2",
             "--class-weight", "low=1", "--class-weight", "mid=1", "--keep", "average",
             "--schedule", "inverse", "--normalize"]  # fmt: skip
    here("fit", "t.csv", "--target", "kind", *given, "--model", "m", cwd=folder)
    parameters = linsep.load(folder / "m").get_params()
    assert parameters == {
        "multiclass": "ovo", "fit_intercept": False, "max_iter": 3, "shuffle": False,
        "learning_rate": 0.5, "early_stopping": True, "validation_fraction": 0.3,
        "n_iter_no_change": 2, "tie": "positive", "warm_start": False, "verbose": 0,
        "class_weight": {"top": 2.0, "low": 1.0, "mid": 1.0}, "random_state": 0,
        "keep": "average", "schedule": "inverse", "normalize": True, "update": "single",
        "vote_mb": 256.0, "reference": None, "zero": "mistake",
    }  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_help_of_a_learner_has_its_parameters_only(folder, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "300")
    shown = " ".join(here("fit", "--learner", name, "--help", cwd=folder).stdout.split())
    every = ESTIMATORS
    for other in every.values():
        for parameter in parameters_of(other).values():
            flag = f" --{parameter.name.replace('_', '-')} "
            if parameter.name == "threshold":  # of Winnow: all learners have the option
                continue
            if other is not every[name]:
                assert flag not in shown or parameter.name in every[name]().get_params()
            elif parameter.name not in NOT_HERE:  # there is nothing to start from
                default = other().get_params()[parameter.name]
                assert (f"{flag}/ --no-{flag[3:]}" if default is True else flag) in shown
                assert parameter.help[1:] in shown
                assert "|".join(parameter.choices) in shown
    seeded = {*LEARNERS, *MARGINS}
    classifiers = {*seeded, "logistic"}
    for option, takers in {
        "--class-weight": classifiers, "--reference": classifiers, "--random-state": seeded,
    }.items():  # fmt: skip
        having = {n for n, e in every.items() if option[2:].replace("-", "_") in e().get_params()}
        assert having == takers
        assert (f" {option} " in shown) == (name in having)


def test_help_is_in_groups(folder):
    shown = here("fit", "--learner=pa", "--help", cwd=folder).stdout
    titles = re.findall(r"^(\S.*):$", shown, re.M)
    first = ["Arguments", "Data", "Text", "Learner", "Validation", "Checkpoints", "Cluster"]
    assert titles == [*first, "Options of --learner pa", "Output"]
    assert "Options of --learner perceptron" in here("fit", "--help", cwd=folder).stdout
    assert re.search("--keep .*\n(.*\n)?.*default: *last", here("trace", "-h", cwd=folder).stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(folder, command):
    done = here(command, "--help", cwd=folder)
    assert done.returncode == 0
    assert f"Example: linsep {command}" in done.stdout


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c not in ("compile", "lab")]
)  # need none
def test_a_command_without_arguments_says_what_is_missing(folder, command):
    assert_refused(command, cwd=folder, said="missing argument", exit_code=2)


def test_help_of_all_imports_no_command():
    code = (
        "import sys; from linsep.cli.main import command\n"
        "try: command()\nfinally: print(sorted({'numpy', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")
    for name in COMMANDS:
        assert re.search(f"^  {name} +[A-Z].*[.]$", done.stdout, re.M)


BAD_FILES = {
    "nan.csv": ("a,kind\n1,x\nnan,y\n", ["--target", "kind"], "row|line 3.*'a'"),
    "text.csv": ("a,kind\n1,x\n2,y\n", [], "--target"),
    "typo.csv": ("a,kind\n1,x\n2,y\n", ["--target", "knd"], "kind"),
    "one.csv": ("a,kind\n1,x\n2,x\n", ["--target", "kind"], "Only one class"),
    "empty.csv": ("", ["--target", "kind"], "empty.csv"),
    "empty.svm": ("", [], "empty.svm"),
    "label.csv": ("a,kind\n1,x\n2,\n", ["--target", "kind"], "kind"),
    "nan.svm": ("1 1:1\n0 1:nan\n", [], "nan.svm line 2"),
    "zero.svm": ("1 1:1\n0 0:1\n", ["--index-base", "1"], "zero.svm line 2.*index"),
    "negative.svm": ("1 -1:1\n", [], "negative.svm line 1"),
    "word.svm": ("1 x:1\n", [], "word.svm line 1"),
    "huge.svm": (f"1 {2**40}:1\n", [], "huge.svm line 1"),
    "order.svm": ("1 2:1 1:1\n", [], "order.svm line 1"),
    "cut.svm": ("1 1:1\n0 1:", [], "cut.svm line 2"),
    "binary.svm": ("\0\1\2\n", [], "binary.svm"),
    "cut.svm.gz": ("\x1f\x8b", [], "cut.svm.gz"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_in_one_sentence(folder, name):
    content, options, said = BAD_FILES[name]
    (folder / name).write_bytes(content.encode("latin-1"))
    assert_refused("fit", name, *options, "--model", "m", cwd=folder, said=said)


def test_wrong_use_and_wrong_places(folder):
    (folder / "void").mkdir()
    (folder / "second").mkdir()
    (folder / "second" / "t1.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n")
    (folder / "second" / "t2.csv").write_text("a,kind\n1,x\n2,y\n")
    fit = ("fit", "t.csv", "--target", "kind")
    assert_refused("fit", "missing.csv", cwd=folder, code="no-file")
    assert_refused("fit", "void", cwd=folder, code="no-file")
    assert_refused("fit", "second", "--target", "kind", cwd=folder, code="unknown-column")
    assert_refused("fit", "*.nothing", cwd=folder, code="no-file")
    assert_refused(
        "fit",
        "t.svm",
        "t.csv",
        cwd=folder,
        code="mixed-formats",
    )
    assert_refused("fit", "t.svm", "--target", "kind", cwd=folder, code="conflict")
    assert_refused(*fit, "--model", "no/such/m", cwd=folder, code="no-file")
    assert_refused(*fit, "--model", "void", cwd=folder, code="not-a-file")
    assert_refused(*fit, "--model", "t.csv", cwd=folder, code="file-exists")
    assert_refused(
        *fit, "--learning-rate", "0", cwd=folder, said="learning-rate.*above 0", exit_code=2
    )
    assert_refused(*fit, "--max-iter", "many", cwd=folder, said="max-iter", exit_code=2)
    assert_refused(*fit, "--tie", "never", cwd=folder, said="tie", exit_code=2)
    assert_refused("learn", cwd=folder, said="learn", exit_code=2)
    assert_refused("score", "t.csv", "t.csv", cwd=folder, code="bad-model-file")
    assert "kind" in (folder / "t.csv").read_text()


def test_version_and_module(folder):
    assert here("--version", cwd=folder).stdout == f"linsep {linsep.__version__}\n"


def test_a_reader_that_goes_away_is_no_error(folder):
    here("fit", "t.svm", "--model", "m", cwd=folder)
    (folder / "long.svm").write_text("0 1:1\n" * 10_000)
    for command, reader in (
        ("predict m long.svm --json", "head -n 1"),
        ("inspect m", "true"),
        ("fit --help", "true"),
    ):
        piped = f"{sys.executable} -m linsep {command} | {reader}; echo ${{PIPESTATUS[0]}} >&2"
        done = subprocess.run(["bash", "-c", piped], cwd=folder, capture_output=True, check=False)
        assert done.stderr == b"141\n", command
        assert done.stdout.count(b"\n") == (reader != "true")


def test_ctrl_c_keeps_what_was_learned(folder):
    with open(folder / "large.svm", "w") as file:
        block = "".join(f"{i % 2} {1 + i % 7}:1 {9 + i % 5}:{i % 3 - 1}\n" for i in range(20_000))
        for _ in range(10):
            file.write(block)
    command = [sys.executable, "-m", "linsep", "fit", "large.svm", "--max-iter", "1000000"]
    running = subprocess.Popen(
        [*command, "--verbose", "1", "--model", "m"], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stderr is not None
    while not (line := running.stderr.readline()).startswith("pass 2:"):
        assert line, "the command ended early"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130, err
    assert "interrupted" in out
    assert "Traceback" not in err
    model = linsep.load(folder / "m")
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ > 1


def test_progress_is_drawn_for_people_only(folder):
    with open(folder / "large.svm", "w") as file:
        file.writelines(f"{i % 2} {1 + i % 7}:1 {9 + i % 5}:{i % 3 - 1}\n" for i in range(60_000))
    seen = on_a_terminal("fit", "large.svm", "--max-iter", "500", cwd=folder, stream="stderr")
    assert "mistakes" in seen
    assert "rows/s" in seen
    assert "pass" in seen


@pytest.mark.parametrize("name", ["a9a.gz", "w8a.gz", "ijcnn1.bz2"])
def test_real_files(shared_data, tmp_path, name):
    done = here("fit", shared_data / "libsvm" / name, "--json", "--model", "m", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["training_accuracy"] > 0.78
    scored = here("score", "m", shared_data / "libsvm" / name, "--json", cwd=tmp_path)
    assert json.loads(scored.stdout)["accuracy"] == pytest.approx(summary["training_accuracy"])
