"""What type checkers make of a program that uses linsep: its classes and functions have types."""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest

import linsep
from linsep.catalog import LEARNERS, REGRESSIONS
from linsep.parameters import parameters_of

HOME = Path(linsep.__file__).parents[1]
ROOT = Path(__file__).parents[2]
PROGRAM = """\
# mypy: disallow-untyped-calls, disallow-any-generics, disallow-subclassing-any, warn-return-any
import numpy as np

import linsep
from linsep import (
    GaussianNaiveBayes, KernelPerceptron, LinearRegression, LogisticRegression, Perceptron, kernels,
    open_source, separation,
)

X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1])
model = Perceptron(max_iter=10, keep="average")
model.fit(X, y)
reveal_type(model)
reveal_type(model.coef_)
reveal_type(linsep.Perceptron)
reveal_type(separation(X, y))
reveal_type(open_source("rows.svm"))
reveal_type(kernels.RBF(gamma=1.0))
reveal_type(Perceptron().fit(X, y))
reveal_type(Perceptron().partial_fit(X, y, classes=[0, 1]))
reveal_type(KernelPerceptron().fit(X, y))
reveal_type(LogisticRegression().fit(X, y))
reveal_type(LinearRegression().fit(X, y))
reveal_type(GaussianNaiveBayes().fit(X, y))
LogisticRegression(l2=1.0)
Perceptron(max_iter="many")
"""
WRONG = len(PROGRAM.splitlines())
TYPES = [
    "Perceptron", "ndarray", "Perceptron", "Verdict", "Source", "RBF", "Perceptron", "Perceptron",
    "KernelPerceptron", "LogisticRegression", "LinearRegression", "GaussianNaiveBayes",
]  # fmt: skip

pytestmark = pytest.mark.compiled


def checked(*command, cwd):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False,
        env=os.environ | {"MYPYPATH": str(HOME)},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(program):
    # The settings are the package's own, so that what is known of numpy is used again.
    known = ["--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache"]
    told = checked("mypy", *map(str, known), "program.py", cwd=program)
    revealed = re.findall('Revealed type is "(.*)"', told)
    assert [kind in found for kind, found in zip(TYPES, revealed, strict=True)] == [True] * len(
        TYPES
    )
    assert re.findall(r"program.py:(\d+): error: (.*)", told) == [
        (str(WRONG), 'Argument "max_iter" to "Perceptron" has incompatible type "str"; expected '
         '"int"  [arg-type]'),
    ]  # fmt: skip


@pytest.mark.skipif(find_spec("basedpyright") is None, reason="pyright is not installed")
def test_pyright(program):
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(HOME)]}
    (program / "pyrightconfig.json").write_text(json.dumps(settings))
    told = checked(
        "basedpyright", "--outputjson", "--pythonpath", sys.executable, "program.py", cwd=program
    )
    said = json.loads(told)["generalDiagnostics"]
    revealed = [d["message"] for d in said if d["severity"] == "information"]
    assert [kind in found for kind, found in zip(TYPES, revealed, strict=True)] == [True] * len(
        TYPES
    )
    wrong = [d for d in said if d["severity"] == "error"]
    assert [d["range"]["start"]["line"] + 1 for d in wrong] == [WRONG]


@pytest.mark.parametrize("estimator", [*LEARNERS.values(), *REGRESSIONS.values()])
def test_signatures_and_docstrings_say_what_is_checked(estimator):
    """Each parameter is of the type that its spec describes, and its docstring, or for what all
    learners have that of Perceptron, names it and its values.
    """
    signature = inspect.signature(estimator)
    text = estimator.__doc__ + linsep.Perceptron.__doc__ * (estimator in LEARNERS.values())
    specs = parameters_of(estimator)
    assert set(signature.parameters) <= set(re.findall(r"(\w+)(?=(?:, \w+)* : )", text))
    for name, spec in specs.items():
        said = signature.parameters[name]
        assert spec.accepts(said.default)
        kinds = [kind for kind in get_args(said.annotation) or [said.annotation] if kind]
        if spec.choices and said.annotation is not Any:
            literals = [
                v for kind in kinds for v in (get_args(kind) or [kind]) if kind is not type(None)
            ]
            assert tuple(literals) == spec.choices, name
            assert all(f'"{choice}"' in text for choice in spec.choices)
        elif said.annotation not in (Any, bool) and not spec.words:
            assert spec.kind in kinds or spec.kind is bool, name
        if type(None) in kinds:
            assert None in spec.also
