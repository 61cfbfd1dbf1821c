"""Names of options in other programs lead to ours, and not to what looks alike."""

import re
from pathlib import Path

import pandas as pd
import pytest

import linsep
from command_line import here
from linsep.cli.errors import in_options
from linsep.errors import in_python
from linsep.other_names import OF_R, OF_SCIKIT_LEARN, OF_VOWPAL_WABBIT, advice_for
from refusals import refused

pytestmark = pytest.mark.uncompiled

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
#: what users type, and what they are told
COMMANDS = {
    "--seed 1": "--random-state", "--epochs 3": "--max-iter", "--lr 0.1": "--learning-rate",
    "--eta0 0.1": "--learning-rate", "--alpha 1": "--l2", "--tol 1": "--max-iter",
    "--n-jobs 2": "all processors", "--n_jobs 2": "all processors", "--maxit 3": "--max-iter",
    "--family binomial": "--learner logistic", "--lambda 1": "--l2", "--nlambda 9": "--l2",
    "--na.action na.omit": "--missing drop", "--standardize": "--scale standard",
    "--passes 3": "--max-iter", "-b 20": "--hash-bits", "-l 0.5": "--learning-rate",
    "--loss_function logistic": "--learner logistic", "-q ab": "--interactions",
    "-f m": "--model", "--final_regressor m": "--model", "-t": "linsep predict",
    "-p out": "linsep predict", "-c": "--no-cache", "-k": "--no-cache", "-i m": "linsep predict",
    "--noconstant": "--no-fit-intercept", "--oaa 3": "--multiclass ovr",
    "--holdout_off": "--early-stopping", "--power_t 0": "--schedule inverse",
    "--invert_hash x": "linsep audit", "--average": "--keep average", "--l1_ratio 1": "--l2",
    "--ngram 2": "--ngrams", "--sep ;": "--delimiter", "--na_values ?": "--null-values",
    "--learner soft-margin --dual": "whichever problem is faster",
    "--learner soft-margin --cost 3": "--C of a soft margin", "--type C-classification":
    "--learner soft-margin or kernel-soft-margin", "--learner soft-margin --epsilon 0.1": "--tol",
    "--learner logistic --C 1": "give 1/C as --l2",
    "--cluster local": "--dask ADDRESS",
    "--learner logistic --penalty l2": "penalty on weights is --l2",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("names")
    (path / "t.csv").write_text("x,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(20)))
    return path


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_say_what_it_is_here(folder, words):
    done = here("fit", "t.csv", "--target", "y", *words.split(), cwd=folder)
    assert done.returncode == 2
    assert COMMANDS[words] in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Possible options" not in done.stderr


@pytest.mark.parametrize("name", sorted(OF_SCIKIT_LEARN | OF_R | OF_VOWPAL_WABBIT))
def test_every_name_is_told_in_python(name):
    frame = pd.DataFrame({"x": range(9), "y": list("abababaab")})
    learner = "perceptron" if name in ("penalty", "tol") else "logistic"  # which has them
    own = {"loss", "normalize", "average"}
    with pytest.raises((TypeError, ValueError)) as caught:
        linsep.fit(frame, target="y", learner=learner, **{name: "x"})
    if name == "data":  # is the first argument
        return
    advice = advice_for(name)
    assert advice is not None
    assert advice.render(in_python) in str(caught.value) or name in own
    for option in advice.settings:
        assert re.search(rf"\b{option}\b", str(caught.value))


def test_penalties_are_told_by_estimators():
    with refused(ValueError, "bad-option", option="penalty"):
        linsep.LogisticRegression(penalty="l2").fit([[0.0], [1.0]], [0, 1])


def test_what_is_no_name_of_others_is_still_a_misspelling(folder):
    with pytest.raises(TypeError, match="did you mean max_iter"):
        linsep.fit(folder / "t.csv", target="y", max_itr=3)
    done = here("fit", "t.csv", "--target", "y", "--max-itr", "3", cwd=folder)
    assert "--max-iter" in done.stderr


PAGES = {"from-scikit-learn.md": in_python, "from-vowpal-wabbit.md": in_options,
         "from-r.md": in_options}  # fmt: skip
LINES = [
    (page, *(cell.strip() for cell in line.strip("|").split(" | ", 1)))
    for page in PAGES
    for line in (DOCS / page).read_text("utf-8").splitlines()
    if line.startswith("| ") and " | " in line
]


@pytest.mark.parametrize(("page", "theirs", "ours"), LINES)
def test_pages_agree_with_the_advice(page, theirs, ours):
    """Each option in the first column of a table, where it is named alone, has the advice that the
    second column gives.
    """
    spans = re.findall(r"`([^`]*)`", theirs)
    for span in spans:
        found = re.fullmatch(r'(--?)?([A-Za-z_0-9]+)(?:[= ]["\w.]+)?(?: -\w)*', span)
        advice = None if found is None else advice_for(found[2])
        if advice is None or span.endswith("_") or f"{found[2]}=" in ours:  # the same name
            continue
        for option, value in advice.settings.items():
            spelled = PAGES[page](option, value).split()[0].split("=")[0].replace("--no-", "-")
            words = re.sub(r"--no-", "-", ours)
            assert spelled in words or "none" in words or "automatic" in words, (span, spelled)


def test_pages_name_options_at_all():
    named = [span for _, theirs, _ in LINES for span in re.findall(r"`--?([\w]+)", theirs)]
    assert sum(advice_for(name) is not None for name in named) > 15
