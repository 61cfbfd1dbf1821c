"""The command ``compile``: compile the loops of learners before their first use."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn.datasets
from rich.console import Console
from rich.progress import track
from sklearn.base import is_regressor

import linsep
from linsep.catalog import ESTIMATORS
from linsep.cli.options import choice, command, option
from linsep.compiled.jit import code_folder
from linsep.errors import DataError

#: of the data that are learned
ROWS, FEATURES = 24, 3


@command()
def compile(
    learner: list[str] | None = option(
        "--learner", choice(ESTIMATORS, "NAME"),
        f"One of {', '.join(ESTIMATORS)}; repeatable.  [default: all]", many=True,
    ),
) -> None:  # fmt: skip
    """Compile the learners before their first use, for containers and classrooms.

    Example: linsep compile --learner perceptron --learner logistic
    """
    folder = code_folder()
    if folder is None:
        told = "No cache folder is writable: set LINSEP_CACHE_DIR to a writable folder."
        raise DataError(told, code="cannot-write")
    before = {*folder.glob("*.code")}
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise does not converge
        for name in track(learner or [*ESTIMATORS], "compiling", console=Console(stderr=True)):
            _compile(name, Path(scratch))
    made = len({*folder.glob("*.code")} - before)
    print(f"{made:,} loops compiled, {len(before):,} already compiled: {folder}")


def _compile(name: str, folder: Path) -> None:
    values = np.random.default_rng(0).integers(0, 3, (ROWS, FEATURES)).astype(float)
    table, text = folder / "rows.csv", folder / "rows.svm"
    for classes in (2, 3):
        y = np.arange(ROWS) % classes
        if is_regressor(ESTIMATORS[name]()):
            y = values @ np.arange(1.0, FEATURES + 1) + y
        np.savetxt(table, np.c_[values, y], "%g", ",", header="a,b,c,y", comments="")
        sklearn.datasets.dump_svmlight_file(values, y, str(text), zero_based=False)
        for path, target in ((table, "y"), (text, None)):
            model = linsep.fit(path, target, learner=name)
            linsep.score(model, path)
        for X in (values, values.astype(np.float32), sp.csr_array(values)):
            ESTIMATORS[name]().fit(X, y).predict(X)
