"""Tests of statsmodels' own suites that are about its linear and logistic regressions, on linsep.

``tests/helpers/statsmodels_adapter.py`` stands in for its classes, and the tests run as they are
installed, against the results of Stata, R and SAS that come with them. Counted are those that ask
the stand-ins for something, and are neither skipped nor expected to fail. Those that do not pass
ask for what linsep has not (empirical likelihood, elasticities, penalties with l1, clusters of two
kinds, AICc), for the layout of statsmodels' tables, or for its warnings.
"""

import json
import os
import subprocess
import sys

import pytest

from documents import ROOT

statsmodels = pytest.importorskip("statsmodels")

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.thorough,
    pytest.mark.skipif(not statsmodels.__version__.startswith("0.15."), reason="other suites"),
]

#: suite of statsmodels: tests that ask, and those of them that pass
COUNTS = {
    "regression.tests.test_regression": (334, 275),
    "regression.tests.test_robustcov": (251, 92),
    "discrete.tests.test_discrete": (237, 92),
    "genmod.tests.test_glm": (74, 29),
}


def outcomes(suite, folder):
    """Run a suite of statsmodels in a process of its own; returns what became of each test."""
    known = os.environ.get("PYTHONPATH", "")
    paths = [str(ROOT / "src"), str(ROOT / "tests" / "helpers"), known]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths), "SUITES_OUTCOMES": str(folder / "outcomes.json"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider",
         "-p", "statsmodels_adapter", "--pyargs", f"statsmodels.{suite}"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (folder / "outcomes.json").exists(), done.stdout + done.stderr
    found = json.loads((folder / "outcomes.json").read_text("utf-8"))
    return {test.split("::", 1)[1]: said for test, said in found.items() if said[0] != "skipped"}


@pytest.mark.parametrize("suite", COUNTS)
def test_suite_of_statsmodels(suite, tmp_path):
    found = outcomes(suite, tmp_path)
    passed = [test for test, said in found.items() if said[0] == "passed"]
    assert (len(found), len(passed)) == COUNTS[suite]
