"""The command ``bounds``: mistake bounds of rows, and the margins of weights on them."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

import linsep
from linsep.cli import file_options, options, report
from linsep.cli.file_options import Files
from linsep.cli.progress import watching
from linsep.cli.proofs import FitIntercept
from linsep.cli.screen import label_text, print_pairs
from linsep.cli.standard_input import reads_data
from linsep.cli.trace import feature_names
from linsep.errors import DataError
from linsep.escaping import escaped
from linsep.estimators._common.equations import Equation, Function
from linsep.learners.perceptron import Perceptron
from linsep.mistake_bounds.bounds import Bound, Bounds
from linsep.mistake_bounds.margins import Linear, linear_of
from linsep.mistake_bounds.rounding import length, shown
from linsep.model_files import format as model_file
from linsep.parameters import Parameter, parameters_of
from linsep.sources.base import Source
from linsep.sources.opening import open_source

MULTICLASS = parameters_of(Perceptron)["multiclass"]


def _option(name: str, kind: type, help: str, **limits: Any) -> Any:
    """Return an option with a number, None by default."""
    return typer.Option(
        f"--{name}",
        parser=options.reader(Parameter(name=name, kind=kind, **limits)),
        help=help,
        metavar="N" if kind is int else "X",
        show_default=False,
    )


Weights = Annotated[
    Any,
    typer.Option(
        "--weights",
        parser=options.numbers,
        help="Weights to compare with, for two classes, and to show the margins of: the intercept, "
        "then one number per feature.  [default: the best found]",
        metavar="X,X,...",
        show_default=False,
    ),
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        help="Show the margins of this model, and read DATA as its training data.",
        metavar="MODEL",
        show_default=False,
    ),
]
Multiclass = Annotated[
    Any,
    typer.Option(
        "--multiclass",
        parser=options.reader(MULTICLASS),
        help="How to learn more than two classes.",
        metavar="|".join(MULTICLASS.choices),
    ),
]
Gamma = Annotated[
    Any,
    _option(
        "gamma", float, "Also bound mistakes by the distance of the rows from this margin.",
        above=0.0,
    ),
]  # fmt: skip
Passes = Annotated[Any, _option("passes", int, "Number of passes.  [default: 1]", at_least=1)]
Literals = Annotated[
    Any, _option("literals", int, "Number of features that Winnow's target depends on.", at_least=1)
]
Majority = Annotated[
    Any,
    _option(
        "majority", int, "Minimum number of literals on, in positive rows only.  [default: 1]",
        at_least=1,
    ),
]  # fmt: skip


@reads_data
@file_options.added
def bounds(
    data: options.Data,
    *,
    target: options.Target = None,
    fit_intercept: FitIntercept = True,
    multiclass: Multiclass = "native",
    passes: Passes = 1,
    weights: Weights = None,
    model: Model = None,
    gamma: Gamma = None,
    literals: Literals = None,
    majority: Majority = 1,
    missing: options.Missing = "error",
    hash_bits: options.HashBits = None,
    exclude: options.Exclude = None,
    index_base: options.IndexBase = None,
    files: Files,
    as_json: options.AsJson = False,
) -> None:
    """Bound the mistakes of learners on DATA, and show the margins of weights.

    Example: linsep bounds train.csv --target species --gamma 0.1
    """
    if weights is not None and model is not None:
        raise typer.BadParameter("--weights and --model are both weights: give one.")
    if majority > (literals or 1):
        raise typer.BadParameter(f"--majority {majority} needs --literals of at least as many.")
    loaded = None if model is None else model_file.load(model)
    columns = {"target": target, "missing": missing, "hash_bits": hash_bits, "exclude": exclude,
               "index_base": index_base}  # fmt: skip
    if loaded is not None:
        columns = {"recipe": _recipe(loaded, model)}
        vars(loaded).pop("feature_names_in_", None)  # the recipe makes the features, without names
    source = open_source(data, **files, **columns)
    X, y = _rows(source, None if loaded is None else loaded.n_features_in_)
    line = _line(loaded, weights, fit_intercept, np.unique(y), X.shape[1])
    found = linsep.bounds(
        X if line is None else line.rows(X), y, multiclass=multiclass,
        fit_intercept=fit_intercept if line is None else line.fit_intercept,
        # The intercept comes last in Python.
        weights=None if weights is None else [*weights[fit_intercept:], *weights[:fit_intercept]],
        passes=passes, gamma=gamma, literals=literals, majority=majority,
    )  # fmt: skip
    margins = {} if line is None else _margins(line, X, y)
    if as_json:
        report.print_json(_as_json(found) | {"margins": margins})
        return
    print(escaped(str(found), lines=True))
    pairs = _compared(found, source, X.shape[1], np.unique(y))
    if margins:
        pairs += [("margins", ", ".join(f"{kind} {value:.6g}" for kind, value in margins.items()))]
    if pairs:
        print()
        print_pairs(pairs)


def _recipe(model: Any, path: Path | None) -> Any:
    """Return how a model's data are read; DataError if they were no files."""
    if not hasattr(model, "recipe_"):
        raise DataError(
            f"{path} was not learnt from a file: use linsep.geometric_margin in Python."
        )
    return model.recipe_


def _rows(source: Source, width: int | None) -> tuple[Any, np.ndarray]:
    """Return all rows, of so many features (None: of all), and their labels."""
    with watching(source):
        parts = list(source.batches())
    if any(part.y is None for part in parts) or not parts:
        raise DataError(f"{source.name} has no labels: bounds and margins need them.")
    width = width or max(part.X.shape[1] for part in parts)
    rows = [_as_wide(part.X, width) for part in parts]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.vstack(rows)
    return X, np.concatenate([part.y for part in parts])


def _as_wide(X: Any, width: int) -> Any:
    """Return rows with so many features."""
    if not sp.issparse(X):
        return np.pad(X, ((0, 0), (0, width - X.shape[1])))
    X = X[:, :width]
    X.resize(X.shape[0], width)
    return X


def _line(
    model: Any, weights: list[float] | None, intercept: bool, classes: np.ndarray, width: int
) -> Linear | None:
    """Return the weights whose margins are shown, if any."""
    if model is not None:
        return linear_of(model)
    if weights is None:
        return None
    need = width + intercept
    if len(weights) != need or len(classes) != 2:
        raise DataError(
            f"--weights is {need} numbers for these data ({'the intercept, then ' * intercept}one "
            f"for each of {width} features), of two classes: got {len(weights)} numbers, "
            f"{len(classes)} classes."
        )
    coef = np.array([weights[intercept:]])
    return Linear(coef, np.array([weights[0] * intercept]), classes, intercept, False, False)


def _margins(line: Linear, X: Any, y: np.ndarray) -> dict[str, float]:
    """Return every margin of the weights on the rows."""
    kinds = {
        "functional": linsep.functional_margin, "geometric": linsep.geometric_margin,
        "cosine": linsep.cosine_margin, "L1": linsep.l1_margin,
    }  # fmt: skip
    found = {kind: margin(line, X, y) for kind, margin in kinds.items()}
    return found | ({"unsigned": linsep.unsigned_margin(line, X)} if len(line.coef) == 1 else {})


def _compared(
    found: Bounds, source: Source, width: int, classes: np.ndarray
) -> list[tuple[str, str]]:
    """Return the weights of the hinge bounds as equations, each with the distance of the rows."""
    pairs: list[tuple[str, str]] = []
    for name in ("hinge", "total distance"):
        bound = next((bound for bound in found if bound.name == name), None)
        if bound is None or bound.comparator is None or bound.distance is None:
            continue
        w = bound.comparator
        intercept = float(w[width]) if len(w) > width else 0.0
        side = Function("", label_text(classes[1]), "", w[:width], intercept)
        pairs += [
            (f"w of {name}", str(Equation(feature_names(source, width), [side]))),
            ("", f"rows are {shown(bound.distance)} in total from its margin {1 / length(w):.4g}"),
        ]
    return pairs


def _as_json(found: Bounds) -> dict[str, Any]:
    """Return bounds as plain JSON."""

    def plain(bound: Bound) -> dict[str, Any]:
        names = ("name", "value", "what", "learner", "source", "comparator", "distance")
        return {name: getattr(bound, name) for name in names}

    return {
        "longest": found.longest,
        "margin": found.margin,
        "bounds": [plain(bound) for bound in found],
        "left_out": found.left_out,
    }
