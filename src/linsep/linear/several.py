"""Several targets of one linear regression: one fit per target, and what the fits share."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from linsep.errors import DataError, ParameterError
from linsep.estimators.fitted_state import Array, restored
from linsep.inference.table import Facts
from linsep.sources.base import is_frame
from linsep.validation.checks import check_beside


def columns_of(y: Any) -> dict[str, Any] | None:
    """Return the columns of several targets by name, y0, ... of an array; None for a single one."""
    if len(getattr(y, "shape", ())) != 2 and not (isinstance(y, list) and np.ndim(y) == 2):
        return None
    if is_frame(y):
        names, columns = [str(name) for name in y.columns], [np.asarray(y[c]) for c in y.columns]
    else:
        columns = list(np.asarray(y).T)
        names = [f"y{k}" for k in range(len(columns))]
    if len(set(names)) < len(names):
        raise DataError("y has two columns of the same name: rename one.", code="duplicate-name")
    return dict(zip(names, columns, strict=True)) if len(names) > 1 else None


class SeveralTargets:
    """The fits of several targets to the same rows, by name, and the correlations of their
    residuals, shape (targets, targets).
    """

    def __init__(self, models: dict[str, Any], correlations: np.ndarray):
        self.models, self.correlations = models, correlations
        self.names = list(models)
        self.first = models[self.names[0]]

    @classmethod
    def fitted(
        cls, estimator: Any, X: Any, columns: dict[str, Any], sample_weight: Any
    ) -> "SeveralTargets":
        """Return copies of an estimator, each fitted to one column."""
        check_beside(X, y=next(iter(columns.values())), sample_weight=sample_weight)
        models = {n: clone(estimator).fit(X, y, sample_weight) for n, y in columns.items()}
        for name, model in models.items():
            model._target = name
        residuals = np.column_stack([columns[n] - model.predict(X) for n, model in models.items()])
        if sample_weight is not None:
            residuals = residuals * np.sqrt(np.asarray(sample_weight, dtype=np.float64))[:, None]
        lengths = np.linalg.norm(residuals, axis=0)
        unit = residuals / np.where(lengths > 0, lengths, 1.0)
        correlations = unit.T @ unit
        np.fill_diagonal(correlations, 1.0)
        return cls(models, correlations)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.models.values())

    def each(self, name: str) -> np.ndarray:
        """Return an attribute of all fits, stacked."""
        return np.stack([getattr(model, name) for model in self])

    def predicted(self, predict: Callable[[Any], Any]) -> Any:
        """Return the predictions ``predict(model)`` of each target, one column per target."""
        parts = [predict(model) for model in self]
        if isinstance(parts[0], tuple):  # with the ends of intervals
            return type(parts[0])(*(np.column_stack(ends) for ends in zip(*parts, strict=True)))
        return np.column_stack(parts)

    def covariance_root(self) -> np.ndarray:
        """Return a matrix R with the covariance R'R of all estimates, target by target: that of the
        residuals times the inverse of the sums of products (Johnson and Wichern, Applied
        Multivariate Statistical Analysis, 2007, result 7.10).
        """
        fits = [model.solution_ for model in self]
        roots = [fit.residual_error * fit.error_root for fit in fits]
        values, vectors = np.linalg.eigh(self.correlations)
        shares = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return np.block([[c * r for c, r in zip(row, roots, strict=True)] for row in shares])

    def headed(self) -> tuple[str, Facts, list[str]]:
        """Return the title of the summary, the statistics of the fits, and notes."""
        header: Facts = [
            ("rows", self.first.n_rows_),
            ("degrees of freedom, residuals", self.first.df_residual_),
            ("degrees of freedom, model", self.first.df_model_),
        ]
        told: dict[str, list[str]] = {}
        for name, model in self.models.items():
            header += [
                (f"R^2 of {name}", model.r_squared_),
                (f"residual standard error of {name}", model.residual_error_),
                (f"p of F of {name}", model.f_p_value_),
            ]
            for note in model._headed()[2]:
                told.setdefault(note, []).append(name)
        notes = [
            note if of == self.names else f"{', '.join(of)}: {note}" for note, of in told.items()
        ]
        return f"Linear regression of {', '.join(self.names)}", header, notes

    def get_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what the fits have learned, for files."""
        arrays, facts = {"correlations": self.correlations}, []
        for k, model in enumerate(self):
            own, said = model.get_state()
            arrays |= {f"{name} {k}": array for name, array in own.items()}
            facts.append(said)
        return arrays, {"targets": facts}

    @classmethod
    def of_state(
        cls, estimator: Any, arrays: dict[str, np.ndarray], facts: dict[str, Any]
    ) -> "SeveralTargets":
        """Return the fits of a file, after checking them."""
        models: dict[str, Any] = {}
        for k, said in enumerate(facts["targets"]):
            end, model = f" {k}", clone(estimator)
            own = {name.removesuffix(end): a for name, a in arrays.items() if name.endswith(end)}
            model.set_state(own, said)
            models[str(said["target"])] = model
        kept = {(*model.solution_.kept, model.solution_.fit_intercept) for model in models.values()}
        if not 1 < len(models) == len(facts["targets"]) or len(kept) > 1:
            raise ValueError("targets without names of their own, or of other features")
        correlations = {"correlations": Array("targets, targets")}
        return cls(models, **restored(correlations, arrays, {}, targets=len(models)))


def one_target(model: Any, what: str) -> None:
    """Raise ParameterError for a model of several targets, for which ``what`` is not available."""
    if hasattr(model, "targets_"):
        raise ParameterError(
            f"The model has several targets, but {what} needs one: fit a regression per column.",
            code="unsupported",
        )
