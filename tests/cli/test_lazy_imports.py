"""Modules that are imported when first used: commands start without them, users miss nothing."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.compiled


def python(code, cwd):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=cwd, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_commands_start_without_what_they_do_not_use(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:1\n-1 1:-1\n" * 20)
    code = """
import atexit, sys
from linsep.cli.main import main
atexit.register(lambda: print(*sorted({"pandas.core", "scipy.stats._stats_py"} & set(sys.modules))))
sys.argv = ["linsep", "fit", "t.svm", "--json"]
main()
"""
    assert python(code, tmp_path).splitlines()[1:] == []


@pytest.mark.parametrize(
    "use",
    [
        "import scipy.stats as s; print(s.norm.cdf(0.0))",
        "from scipy.stats import norm; print(norm.cdf(0.0))",
        "import scipy; print(scipy.stats.norm.cdf(0.0))",
        "import scipy.stats.distributions as d; print(d.norm.cdf(0.0))",
        "from scipy import stats; print(stats.norm.cdf(0.0))",
    ],
)
def test_a_module_put_off_is_the_real_one_when_used(tmp_path, use):
    start = "from linsep.cli.lazy_imports import import_lazily; import_lazily('scipy.stats')\n"
    after = "\nimport sys; print(type(sys.modules['scipy.stats']).__name__, scipy.stats.norm.pdf)"
    out = python(start + "import scipy.stats\n" + use + after, tmp_path).splitlines()
    assert out[0] == "0.5"
    assert out[1].startswith("module ")


def test_estimators_see_tables_of_pandas_that_was_put_off(tmp_path):
    pytest.importorskip("pandas")
    code = """
from linsep.cli.lazy_imports import import_lazily
import_lazily("pandas")
import_lazily("no_such_module")
import pandas
from linsep import Perceptron
frame = pandas.DataFrame({"height": [0.0, 1.0], "width": [1.0, 0.0]})
print(Perceptron().fit(frame, [0, 1]).feature_names_in_.tolist())
try:
    import no_such_module
except ModuleNotFoundError:
    print("missing")
"""
    assert python(code, tmp_path).split("\n") == ["['height', 'width']", "missing"]
