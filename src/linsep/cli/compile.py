"""The command ``compile``: compile the loops of learners before their first use."""

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.datasets
from rich.console import Console
from rich.progress import track
from sklearn.base import is_regressor

from linsep.catalog import ESTIMATORS, WITHOUT_PASSES
from linsep.cli.learner_options import DEFAULTS
from linsep.cli.options import LearnerNames, Option, command, typed
from linsep.cli.predict import score_source
from linsep.compiled.code_cache import code_folder
from linsep.errors import DataError
from linsep.sources.opening import open_source

LEARNERS_TO_COMPILE = Option(
    "--learner", typed(LearnerNames(ESTIMATORS), "NAME"),
    f"Learner to compile: {', '.join(ESTIMATORS)}; repeatable.  [default: all]", many=True,
)  # fmt: skip
ROWS, FEATURES = 24, 3


@command(LEARNERS_TO_COMPILE)
def compile(learner: list[str] | None) -> None:
    """Compile the learners before their first use, for containers and classrooms.

    Example: linsep compile --learner perceptron --learner logistic
    """
    folder = code_folder()
    if folder is None:
        raise DataError(
            "Compiled code cannot be stored: no cache folder is writable",
            "set LINSEP_CACHE_DIR to a writable folder",
            code="cannot-write",
        )
    before = _kept(folder)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise does not converge
        runs = [run for name in learner or ESTIMATORS for run in _runs(name, Path(scratch))]
        for run in track(runs, "compiling", console=Console(file=sys.stderr)):
            run()
    made = len(_kept(folder) - before)
    print(f"{made:,} loops compiled, {len(before):,} already compiled: {folder}")


def _kept(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.code")}


def _runs(name: str, folder: Path) -> Iterator[Callable[[], Any]]:
    """Yield small fits and predictions that need all loops for common data: files, arrays, two
    and several classes.
    """
    values = np.random.default_rng(0).integers(0, 3, (ROWS, FEATURES)).astype(float)
    for classes in (2, 3):
        y = np.arange(ROWS) % classes
        if is_regressor(ESTIMATORS[name]()):
            y = values @ np.arange(1.0, FEATURES + 1) + y
        for path, target in _files(folder, values, y):
            yield partial(_from_file, name, path, target)
        for X in (values, values.astype(np.float32), sp.csr_array(values)):
            yield partial(_from_array, name, X, y)


def _files(folder: Path, values: np.ndarray, y: np.ndarray) -> list[tuple[Path, str | None]]:
    """Write the rows as a table and as svmlight text; yield path and target of each."""
    table, text = folder / f"{y.max():g}.csv", folder / f"{y.max():g}.svm"
    rows = [*zip(values, y, strict=True)]
    lines = [f"{','.join(map(str, row))},{label}" for row, label in rows]
    table.write_text("\n".join(["a,b,c,y", *lines, ""]))
    sklearn.datasets.dump_svmlight_file(values, y, str(text), zero_based=False)
    return [(table, "y"), (text, None)]


def _from_file(name: str, path: Path, target: str | None) -> None:
    source = open_source([str(path)], target=target, cache=None)
    estimator = ESTIMATORS[name](**{} if name in WITHOUT_PASSES else DEFAULTS["fit"]).fit(source)
    score_source(estimator, open_source([str(path)], recipe=source.layout()))


def _from_array(name: str, X: Any, y: np.ndarray) -> None:
    ESTIMATORS[name]().fit(X, y).predict(X)
