"""What a browser runs needs nothing but Python: no numpy, no scipy, no scikit-learn."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.uncompiled

FOREIGN = "numpy", "scipy", "sklearn", "numba", "rich", "pyarrow", "flint", "click"
MODULES = [
    "check", "drawing", "errors", "parameters", "words", "teaching.rounds", "teaching.tables",
    "teaching.trace_table",
    *(f"teaching.textbook.{name}" for name in
      ("arow", "dual", "keeping", "kernels", "logistic", "margin", "online_logistic",
       "passive_aggressive", "perceptron", "scw", "winnow")),
]  # fmt: skip


def test_the_plain_python_of_the_textbook_imports_the_standard_library_only():
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({FOREIGN!r}))\n"  # importing None is an ImportError
        "from importlib import import_module\n"
        f"for name in {MODULES!r}: import_module(f'linsep.{{name}}')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
