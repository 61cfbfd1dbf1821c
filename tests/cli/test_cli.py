"""The command line as people and scripts meet it."""

import json
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.shell_completion import ShellComplete

import linsep
from command_line import assert_refused, here, run, table
from documents import ROOT
from linsep.catalog import ESTIMATORS
from linsep.cli.app import COMMANDS, app
from linsep.cli.learner_options import NOT_HERE
from linsep.errors import LinsepError
from linsep.learners.perceptron import Perceptron
from linsep.other_names import advice_for
from linsep.parameters import parameters_of
from linsep.sources import open_source


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
    again = json.loads(here(*fit, "--json", cwd=folder).stdout)
    scored = json.loads(here("score", "m.linsep", "t.csv", "--json", cwd=folder).stdout)
    assert again["test"]["accuracy"] == scored["accuracy"] == again["training_accuracy"]
    assert f"{100 * scored['accuracy']:.2f}%" in learned.stdout
    assert sum(c["rows"] for c in scored["classes"]) == 80
    predicted = here("predict", "m.linsep", "t.csv", cwd=folder).stdout.split()
    truth = [line.split(",")[3] for line in (folder / "t.csv").read_text().split()[1:]]
    right = np.mean(np.array(predicted) == truth)
    assert right == pytest.approx(scored["accuracy"])
    shown = here("inspect", "m.linsep", "--top", 1, cwd=folder).stdout
    assert "80 rows" in shown


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
    parameters = linsep.load(folder / "m").learner.get_params()
    assert parameters == {
        "multiclass": "ovo", "fit_intercept": False, "max_iter": 3, "shuffle": False,
        "learning_rate": 0.5, "early_stopping": True, "validation_fraction": 0.3,
        "n_iter_no_change": 2, "tie": "positive",
        "class_weight": {"top": 2.0, "low": 1.0, "mid": 1.0}, "random_state": 0,
        "keep": "average", "schedule": "inverse", "normalize": True, "update": "single",
        "vote_mb": 256.0, "reference": None, "zero": "mistake",
    }  # fmt: skip


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


def test_a_reader_that_goes_away_is_no_error(folder):
    here("fit", "t.svm", "--model", "m", cwd=folder)
    (folder / "long.svm").write_text("0 1:1\n" * 5000)
    for command, reader in (("predict m long.svm --json", "head -n 1"), ("fit --help", "true")):
        piped = f"{sys.executable} -m linsep {command} | {reader}; echo ${{PIPESTATUS[0]}} >&2"
        done = subprocess.run(["bash", "-c", piped], cwd=folder, capture_output=True, check=False)
        assert done.stderr == b"141\n", command
        assert done.stdout.count(b"\n") == (reader != "true")


#: the command line, which says when a pass ends
TELLS_PASSES = """
import sys
from linsep.cli.main import main
from linsep.learners.passes import Course
finish = Course.finish
def told(course, scores):
    print("pass", course.number + 1, file=sys.stderr, flush=True)
    return finish(course, scores)
Course.finish = told
main()
"""


def test_ctrl_c_keeps_what_was_learned(folder):
    lines = [f"{i % 2} {1 + i % 7}:1 {9 + i % 5}:{i % 3 - 1}\n" for i in range(2_000)]
    (folder / "large.svm").write_text("".join(lines))
    command = [sys.executable, "-c", TELLS_PASSES, "fit", "large.svm", "--max-iter", "1000000"]
    running = subprocess.Popen(
        [*command, "--model", "m"], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stderr is not None
    while not (line := running.stderr.readline()).startswith("pass 2"):
        assert line, "the command ended early"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130, err
    assert "interrupted" in out
    assert "Traceback" not in err
    model = linsep.load(folder / "m")
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ > 1


def test_labels_are_the_same_in_json_as_in_text(small):
    for learner in ("perceptron", "logistic --l2 1", "naive-bayes"):
        fit = f"fit t.svm --learner {learner} --model m --force --json"
        assert '"classes": [0, 1]' in here(*fit.split(), cwd=small).stdout
    assert '"label": 0,' in here("score", "m", "t.svm", "--json", cwd=small).stdout
    predicted = here("predict", "m", "t.svm", "--json", cwd=small).stdout
    assert re.match('{"prediction": [01], ', predicted)


def test_inspect_shows_options_that_fit_takes(small):
    """Not ``fit_intercept=False``; all of them make the same model again."""
    chosen = [
        "--no-fit-intercept", "--keep", "last", "--max-iter", "7", "--learning-rate", "0.5",
        "--class-weight", "1=2.0", "--tie", "positive", "--normalize",
    ]  # fmt: skip
    assert here("fit", "t.svm", *chosen, "--model", "m", cwd=small).returncode == 0
    shown = here("inspect", "m", cwd=small).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("options "))
    typed = line.removeprefix("options").partition(";")[0]
    assert sorted(typed.split()) == sorted(chosen)
    assert here("fit", "t.svm", *typed.split(), "--model", "n", cwd=small).returncode == 0
    assert here("inspect", "n", cwd=small).stdout == shown


ROWS = "a,t,kind\n1,p,x\n2,q,y\n3,p,x\n"


@pytest.fixture
def mistakes(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "hole.csv").write_text("a,t,kind\n1,p,x\n,q,y\n")
    (tmp_path / "typo.csv").write_text("a,t,kind\n1,p,x\n2x,q,y\n")
    (tmp_path / "bare.csv").write_text("a,t\n1,p\n")
    (tmp_path / "gap.csv").write_text("a,t,kind\n1,p,x\n2,q,\n")
    (tmp_path / "zero.svm").write_text("1 0:1\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n")
    assert here("fit", "t.csv", "--target", "kind", "--model", "m", cwd=tmp_path).returncode == 0
    assert here("fit", "t.svm", "--model", "s", cwd=tmp_path).returncode == 0
    return tmp_path


def test_python_users_read_parameters(mistakes):
    def said(action):
        with pytest.raises(LinsepError) as caught:
            action()
        assert "--" not in str(caught.value)
        return str(caught.value)

    def read(name, **options):
        return lambda: list(open_source(mistakes / name, **options).batches())

    assert 'missing="drop"' in said(read("hole.csv", target="kind"))
    assert 'exclude=["a"]' in said(read("hole.csv", target="kind"))
    assert "name it with target." in said(read("t.csv"))
    assert "leave out index_base." in said(read("t.csv", target="kind", index_base=1))
    assert "leave out target and hash_bits." in said(read("t.svm", target="kind", hash_bits=3))
    assert "index_base=0" in said(read("zero.svm", index_base=1))
    model = linsep.load(mistakes / "m")
    assert "force=True" in said(lambda: linsep.save(model, mistakes / "m"))
    assert 'missing="skip"' in said(read("hole.csv", recipe=model.recipe_, labeled=False))


#: what users type, and the option of ours that they are told
COMMANDS_OF_OTHERS = {
    "--seed 1": "--random-state", "--alpha 1": "--l2", "--n_jobs 2": "", "--maxit 3": "--max-iter",
    "-b 20": "--hash-bits", "-t": "linsep predict", "--average": "--keep average",
    "--learner soft-margin --cost 3": "--C", "--learner logistic --C 1": "--l2",
    "--learner logistic --penalty l2": "--l2", "--na.values ?": "--null-values",
    "--learner logistic --penalty Firth": "mean 'firth'", "--clusters x": "--cluster-by",
    "--learner ridge": "mean 'linear'",
}  # fmt: skip


def test_the_name_says_the_format(tmp_path):
    table(tmp_path, "t.csv", ["x", "z", "y"], [[1, 2, "a"], [2, 1, "b"], [0, 2, "a"]])
    words = ["trace", "t.csv", "--target", "y", "--no-shuffle"]
    for name, form in (("o.CSV", "csv"), ("o.md", "markdown"), ("o.tex", "latex"), ("o", "text")):
        assert here(*words, "--output", name, cwd=tmp_path).returncode == 0
        told = here(*words, "--format", form, cwd=tmp_path).stdout
        assert (tmp_path / name).read_text() == told
    said = here(*words, "--format", "text", "--output", "o.md", "--force", cwd=tmp_path)
    assert said.returncode == 0
    assert (tmp_path / "o.md").read_text() == told


@pytest.fixture
def columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,city,cost,label\n1,a,2,x\n")
    (tmp_path / "s.csv").write_text("# a;b\nage;street\n1;a\n")
    (tmp_path / "bad.csv").write_bytes(b"\x00\xff\n")
    return tmp_path


def offered(*typed):
    *words, incomplete = typed
    complete = ShellComplete(app, {}, "linsep", "_LINSEP_COMPLETE")
    return [one.value for one in complete.get_completions(words, incomplete)]


def python(code, cwd):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=cwd, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_commands_start_without_what_they_do_not_use(tmp_path):
    (tmp_path / "t.csv").write_text("x,kind\n" + "1,a\n-1,b\n" * 20)
    code = """
import atexit, sys
from linsep.cli.main import main
unused = {
    "pandas.core", "scipy.stats._stats_py", "numpy.f2py.f2py2e", "numpy.testing._private",
    "scipy.special._ufuncs", "narwhals.dataframe", "pyarrow.parquet", "filelock._core",
    "linsep.learners.winnow", "linsep.learners.kernel", "linsep.logistic.estimator",
    "numba.np.arraymath", "flint", "highspy",
}
atexit.register(lambda: print(*sorted(unused & set(sys.modules))))
sys.argv = ["linsep", "fit", "t.csv", "--target", "kind", "--json"]
main()
"""
    assert python(code, tmp_path).splitlines()[1:] == []


def test_modules_that_were_put_off_are_the_real_ones_when_used(tmp_path):
    pytest.importorskip("pandas")
    code = """
from linsep.cli.app import import_lazily
for name in ("numpy.testing", "pandas", "no_such_module"):
    import_lazily(name)
import numpy, numpy.testing as put_off
from numpy.testing import assert_array_equal
numpy.testing.assert_array_equal([1], [1])
put_off.assert_allclose([1.0], [1.0])
print(type(numpy.testing).__name__)
import pandas
from linsep import Perceptron
frame = pandas.DataFrame({"height": [0.0, 1.0], "width": [1.0, 0.0]})
print(Perceptron().fit(frame, [0, 1]).feature_names_in_.tolist())
try:
    import no_such_module
except ModuleNotFoundError:
    print("missing")
"""
    assert python(code, tmp_path).split("\n") == ["module", "['height', 'width']", "missing"]


@pytest.mark.parametrize(("name", "most"), [("Perceptron", 49), ("LogisticRegression", 68)])
def test_estimators_load_little(tmp_path, name, most):
    """Neither the readers of files nor what proves."""
    code = f"""
import sys
from linsep import {name}
own = sorted(module for module in sys.modules if module.split(".")[0] == "linsep")
unused = ["opening", "tables", "separability", "certificate", "cli", "teaching", "linsep.plot"]
print(len(own) <= {most} or own, [part for part in unused if any(part in one for one in own)])
"""
    assert python(code, tmp_path) == "True []"


@pytest.fixture
def small(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,p\n2,1,q\n3,5,p\n1,1,q\n")
    (tmp_path / "t.svm").write_text("0 1:1\n1 2:1\n1 1:2\n")
    return tmp_path


def test_the_help_of_a_learner_has_its_parameters_only(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for name in ("perceptron", "pa", "kernel", "logistic", "linear", "naive-bayes"):
        shown = " ".join(here("fit", "--learner", name, "--help", cwd=folder).stdout.split())
        own = ESTIMATORS[name]().get_params()
        for other in ESTIMATORS.values():
            for parameter in parameters_of(other).values():
                flag = f" --{parameter.name.replace('_', '-')} "
                if parameter.name == "threshold":  # of Winnow: all learners have the option
                    continue
                if other is not ESTIMATORS[name]:
                    assert flag not in shown or parameter.name in own
                elif parameter.name not in NOT_HERE:  # there is nothing to start from
                    default = other().get_params()[parameter.name]
                    assert (f"{flag}/ --no-{flag[3:]}" if default is True else flag) in shown
                    assert "|".join(parameter.choices) in shown


def test_help_fits_one_screen_and_all_of_it_is_asked_for(folder):
    first, whole = (here("fit", how, cwd=folder).stdout for how in ("--help", "--help-all"))
    assert len(first.splitlines()) <= 40
    shown, known = (
        set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.M)) for text in (first, whole)
    )
    assert shown < known
    assert {"--target", "--learner", "--model", "--cv", "--help-all"} < shown
    assert {"--thousands", "--dask", "--resume", "--random-state", "--keep"} < known - shown


def test_every_example_of_help_runs(folder):
    """In the order of the list of commands, which is that of a first day."""
    from served import Forked

    rows = [[20 + 7 * k % 50, k % 9 % 5, "ab"[k % 3 % 2], "no", k // 2] for k in range(60)]
    for name in ("train", "test", "new", "pressure", "patients"):
        table(folder, f"{name}.csv", ("age", "size", "species", "ill", "patient"), rows)
    shutil.copy(ROOT / "docs" / "students.csv", folder)
    for formula, name in {"age": "pressure", "age+species": "few", "age*species": "more"}.items():
        model = linsep.fit(folder / "train.csv", formula=f"size~{formula}", learner="linear")
        linsep.save(model, folder / f"{name}.linsep")
    model = linsep.fit(folder / "train.csv", formula="species~age+size", learner="logistic")
    linsep.save(model, folder / "odds.linsep")
    for command in [*COMMANDS, ""]:
        shown = here(*command.split(), "--help", cwd=folder).stdout
        words = re.search(r"^  Example: linsep (.*?)(\. `|$)", shown, re.M)[1].split()
        assert words[0] == (command or "fit")
        if words[0] == "serve":
            with Forked(*words[:-1], 0, cwd=folder) as server:
                assert server.started(3).startswith("serving")
                assert server.ended(signal.SIGINT) == (0, "", "")
            continue
        done = here(*words, cwd=folder)
        assert done.returncode == 0, (words, done.stderr)


def test_every_command_says_what_is_missing(folder):
    for command in COMMANDS:
        if command not in ("compile", "lab"):  # which need nothing
            assert_refused(command, cwd=folder, exit_code=2)
    assert here("--version", cwd=folder).stdout == f"linsep {linsep.__version__}\n"
    assert here(cwd=folder).returncode == 2


#: codes, contents of files, and options
BAD_FILES = {
    "hole.csv": ("missing-value", "a,y\n1,p\n,q\n", "--target y"),
    "typo.csv": ("unknown-column", "a,y\n1,p\n2,q\n", "--target x"),
    "bare.csv": ("no-labels", "a,y\n1,p\n2,q\n", ""),
    "empty.csv": (None, "", "--target y"),
    "empty.svm": ("no-rows", "", ""),
    "label.csv": ("missing-value", "a,y\n1,p\n2,\n", "--target y"),
    "nan.svm": ("not-finite", "1 1:1\n0 1:nan\n", ""),
    "zero.svm": ("out-of-range", "1 1:1\n0 0:1\n", "--index-base 1"),
    "cut.svm": ("missing-value", "1 1:1\n0 1:", ""),
    "binary.svm": (None, "\0\1\2\n", ""),
    "cut.svm.gz": (None, "\x1f\x8b", ""),
}


def test_bad_files_are_refused_in_one_sentence(folder):
    for name, (code, content, options) in BAD_FILES.items():
        (folder / name).write_bytes(content.encode("latin-1"))
        words = ("fit", name, *options.split(), "--model", "m")
        assert_refused(*words, cwd=folder, code=code)


#: exit code, code, and words
WRONG = """
1 no-file fit missing.csv
1 no-file fit *.nothing
1 no-file fit void
1 mixed-formats fit t.svm t.csv
1 conflict fit t.svm --target y
1 conflict fit t.svm --hash-bits 3
1 no-file fit t.csv --target y --model no/such/m
1 not-a-file fit t.csv --target y --model void
1 file-exists fit t.csv --target y --model t.csv
1 bad-model-file score t.csv t.csv
1 bad-proof verify t.csv t.svm
1 class-count fit one.svm
1 unknown-label fit t.svm --class-weight 7=2
1 too-few-rows fit t.svm --early-stopping --validation-fraction 0.01
2 bad-option trace t.svm --early-stopping
2 - fit t.svm --max-iter 1.5
2 - fit t.svm --learning-rate 0
2 - fit t.svm --tie never
2 - fit t.svm --missing skip
2 - fit t.svm --hash-bits 31
2 - fit t.svm --index-base 2
2 - fit t.svm --random-state -1
2 - fit t.svm --learner svm
2 - fit t.svm --bogus 1
2 - fit t.svm --C 2
2 - fit t.svm --model -
2 - separate t.svm --proof -
2 - separate t.svm --margin 0.1
2 - inspect m --top=x
2 - learn
2 - --bogus
"""


def test_wrong_use_and_wrong_places(small):
    (small / "void").mkdir()
    (small / "one.svm").write_text("1 1:1\n1 2:1\n1 1:2\n")
    for line in WRONG.strip().split("\n"):
        exit_code, code, *words = line.split()
        code = None if code == "-" else code
        assert_refused(*words, cwd=small, code=code, exit_code=int(exit_code))
    assert (small / "t.csv").read_text().startswith("a,b,y\n")


def test_what_a_model_fixes_is_for_learning_it_again(mistakes):
    for command, code in (
        ("predict m hole.csv", "missing-value"),
        ("predict m typo.csv", "not-a-number"),
        ("score m bare.csv", "unknown-column"),
        ("predict s zero.svm", "out-of-range"),
    ):
        done = here(*command.split(), cwd=mistakes)
        assert (done.returncode, done.stderr.endswith(f"[{code}]\n")) == (1, True), done.stderr
        assert not re.search("--(missing (?!skip)|exclude|target|index-base)", done.stderr)


def test_names_of_other_programs_lead_to_ours(small):
    for words, ours in COMMANDS_OF_OTHERS.items():
        done = here("fit", "t.csv", "--target", "y", *words.split(), cwd=small)
        assert done.returncode == 2
        assert ours in done.stderr
    frame = pd.DataFrame({"x": range(9), "y": list("abababaab")})
    for name in ("alpha", "epochs"):
        with pytest.raises((TypeError, ValueError)) as caught:
            linsep.fit(frame, target="y", learner="logistic", **{name: "x"})
        assert all(ours in str(caught.value) for ours in advice_for(name).settings)
    assert advice_for("max_itr") is None
    for how, ours in (
        ({"clusters": "x"}, 'group="'), ({"cluster_by": "x", "learner": "logistic"}, 'group="'),
        ({"l2": 1.0}, 'learner="logistic"'), ({"learner": "svm"}, "mean 'soft-margin'"),
        ({"learner": "logit"}, "mean 'logistic'"), ({"learner": "ridge"}, "mean 'linear'"),
        ({"learner": "logistic", "penalty": "Firth"}, "mean 'firth'"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)) as caught:
            linsep.fit(frame, target="y", **how)
        assert ours in str(caught.value)


def test_completion(columns):
    for typed, words in {
        "fit t.csv --target |": ["age", "city", "cost", "label"],
        "fit t.csv --target c|": ["city", "cost"],
        "fit s.csv --delimiter ; --comment # --target |": ["age", "street"],
        "fit --target |": [],
        "fit none.csv --target |": [],
        "fit bad.csv --target |": [],
        "fit t.csv --learner |": list(ESTIMATORS),
        "fit t.csv --missing |": ["error", "drop", "zero", "mean", "indicator"],
        "fit t.csv --learner logistic --solver n|": ["newton"],
        "des|": ["describe"],
    }.items():
        assert offered(*typed.removesuffix("|").split(" ")) == words
