"""Races of logistic regressions: each to the same optimum, judged by the objective reached."""

import gzip
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as Theirs

from benchmarks.data import FOLDER, sparse
from benchmarks.harness import Race, Side
from linsep import LogisticRegression

MNIST = FOLDER.parents[2] / "shared" / "data" / "mnist"


def inference_data(n_rows: int = 1_000_000, n_features: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows, labels drawn from a logistic teacher."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    odds = X @ rng.standard_normal(n_features) * 0.3
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


class Fitted:
    """A side whose last fit is kept for its objective."""

    def __init__(self, name: str, fit: Callable[[], Any]):
        self.side, self._fit = Side(name, self.run), fit
        self.model: Any = None

    def run(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = self._fit()


def mean_loss(model: Any, X: Any, y: np.ndarray, l2: float) -> float:
    """What is minimized, by row; of our several classes with the weights that add up to zero."""
    own = model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    W = np.asarray(model.coef_)
    if len(model.classes_) > 2:
        W = np.vstack([W, np.zeros((len(model.classes_) - len(W), W.shape[1]))])
        W = W - W.mean(axis=0)
    return float((-own.sum() + l2 / 2 * (W**2).sum()) / len(y))


def race(
    work: str, X: Any, y: np.ndarray, l2: float, ours: Fitted, theirs: Fitted, goal: float,
    turns: int = 3,
) -> Race:  # fmt: skip
    """Some turns; beside the times the objective by row that each side reached."""
    return Race(
        work, ours.side, theirs.side, goal, turns,
        lambda: (mean_loss(ours.model, X, y, l2), mean_loss(theirs.model, X, y, l2)), "objective",
    )  # fmt: skip


def inference(peer: str, goal: float) -> Race:
    """Coefficients and standard errors of a million rows."""
    X, y = inference_data()
    ours = Fitted("linsep", lambda: LogisticRegression(tol=1e-6).fit(X, y))
    work = "logistic with inference, 1,000,000 x 50, gradient 1e-8"
    if peer == "scikit-learn newton-cholesky":
        model = Theirs(C=np.inf, solver="newton-cholesky", tol=1e-8, max_iter=100)
        return race(work, X, y, 0.0, ours, Fitted(peer, lambda: model.fit(X, y)), goal)
    import statsmodels.api as sm

    Z = sm.add_constant(X, prepend=False)
    theirs = Fitted(peer, lambda: sm.Logit(y, Z).fit(disp=0, method="newton", maxiter=100))
    found = race(work, X, y, 0.0, ours, theirs, goal)
    return found._replace(
        accuracies=lambda: (mean_loss(ours.model, X, y, 0.0), -theirs.model.llf / len(y))
    )


def words(peer: str, tol: float, **how: Any) -> Race:
    """Sparse rows with a penalty, both sides to about the same objective."""
    X, y = sparse(400_000)
    ours = Fitted("linsep", lambda: LogisticRegression(l2=1.0, tol=1e-5).fit(X, y))
    model = Theirs(C=1.0, tol=tol, max_iter=10_000, **how)
    theirs = Fitted(peer, lambda: model.fit(X, y))
    return race("logistic, CSR 400,000 x 47,236, l2", X, y, 1.0, ours, theirs, 2.0, 1)


def digits(l2: float = 100.0) -> Race:
    """Ten classes of 60,000 images."""
    raw = {}
    for name in ("train-images.idx3-ubyte", "train-labels.idx1-ubyte"):
        with gzip.open(MNIST / f"{name}.gz") as file:
            raw[name] = np.frombuffer(file.read(), dtype=np.uint8)
    X = raw["train-images.idx3-ubyte"][16:].reshape(60_000, 784) / 255.0
    y = raw["train-labels.idx1-ubyte"][8:].astype(int)
    ours = Fitted("linsep", lambda: LogisticRegression(l2=l2, tol=5e-5).fit(X, y))
    model = Theirs(C=1.0 / l2, tol=1e-4, max_iter=10_000)
    theirs = Fitted("scikit-learn lbfgs", lambda: model.fit(X, y))
    return race("multinomial, MNIST, l2", X, y, l2, ours, theirs, 2.0, 1)


def races() -> dict[str, Callable[[], Race]]:
    """Every race of this file by its short name."""
    found: dict[str, Callable[[], Race]] = {
        "logistic": lambda: inference("statsmodels Logit", 4.0),
        "logistic-cholesky": lambda: inference("scikit-learn newton-cholesky", 1.5),
        "logistic-csr": lambda: words("scikit-learn lbfgs", 1e-5),
        "logistic-csr-liblinear": lambda: words(
            "LIBLINEAR primal", 1e-3, solver="liblinear", intercept_scaling=1e3
        ),
    }
    return found | ({"logistic-mnist": digits} if MNIST.is_dir() else {})
