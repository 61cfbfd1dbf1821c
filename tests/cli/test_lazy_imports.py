"""Modules that are imported when first used: commands start without them, users miss nothing."""

import subprocess
import sys

import pytest

from thoroughness import some

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
    (tmp_path / "t.csv").write_text("x,kind\n" + "1,a\n-1,b\n" * 20)
    for data in (["t.svm"], ["t.csv", "--target", "kind"]):
        code = f"""
import atexit, sys
from linsep.cli.main import main
unused = {{
    "pandas.core", "scipy.stats._stats_py", "numpy.f2py.f2py2e", "numpy.testing._private",
    "scipy.special._ufuncs", "narwhals.dataframe", "pyarrow.parquet", "filelock._core",
    "linsep.learners.winnow", "linsep.learners.kernel", "linsep.logistic.estimator",
    "numba.np.arraymath",
}}
atexit.register(lambda: print(*sorted(unused & set(sys.modules))))
sys.argv = ["linsep", "fit", *{data}, "--json"]
main()
"""
        python(code, tmp_path)  # compiles what is not in the cache yet
        assert python(code, tmp_path).splitlines()[1:] == []


def test_parts_of_numpy_that_were_put_off_are_the_real_ones_when_used(tmp_path):
    code = """
from linsep.cli.app import import_lazily
import_lazily("numpy.testing")
import numpy, numpy.testing as put_off
from numpy.testing import assert_array_equal
numpy.testing.assert_array_equal([1], [1])
put_off.assert_allclose([1.0], [1.0])
print(type(numpy.testing).__name__)
"""
    assert python(code, tmp_path) == "module"


@pytest.mark.parametrize(
    "use",
    some(
        [
            "import scipy.stats as s; print(s.norm.cdf(0.0))",
            "import scipy; print(scipy.stats.norm.cdf(0.0))",
            "import scipy.stats.distributions as d; print(d.norm.cdf(0.0))",
            "from scipy.stats import norm; print(norm.cdf(0.0))",
            "from scipy import stats; print(stats.norm.cdf(0.0))",
        ]
    ),
)
def test_a_module_put_off_is_the_real_one_when_used(tmp_path, use):
    start = "from linsep.cli.app import import_lazily; import_lazily('scipy.stats')\n"
    after = "\nimport sys; print(type(sys.modules['scipy.stats']).__name__, scipy.stats.norm.pdf)"
    out = python(start + "import scipy.stats\n" + use + after, tmp_path).splitlines()
    assert out[0] == "0.5"
    assert out[1].startswith("module ")


def test_estimators_see_tables_of_pandas_that_was_put_off(tmp_path):
    pytest.importorskip("pandas")
    code = """
from linsep.cli.app import import_lazily
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


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("Perceptron", 49), ("KernelPerceptron", 59), ("LinearRegression", 43),
        ("LogisticRegression", 68), ("GaussianNaiveBayes", 30),
    ],
)  # fmt: skip
def test_estimators_load_little(tmp_path, name, most):
    """Neither the readers of files nor what proves."""
    code = f"""
import sys
from linsep import {name}
own = sorted(module for module in sys.modules if module.split(".")[0] == "linsep")
unused = ["opening", "tables", "separability", "certificate", "cli", "teaching"]
print(len(own) <= {most} or own, [part for part in unused if any(part in one for one in own)])
"""
    assert python(code, tmp_path) == "True []"
