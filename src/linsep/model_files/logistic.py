"""Logistic regression in a model file: weights, inference and proofs."""

from typing import Any

import numpy as np

import linsep
from linsep.estimators._common.stored import classes_of, count, described, finite, plain
from linsep.logistic.centered import in_use

LIMITS = (
    "finite", "dependent", "+inf", "-inf", "infinite", "no weight", "not checked",
    "sign not checked",
)  # fmt: skip
#: numbers of a fit, NaN if there are none
NUMBERS = ("log_likelihood_", "null_log_likelihood_", "_gained")
ENDS = ("low", "high", "p")


def contents(model: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays of a fitted regression, and the rest as plain JSON."""
    arrays = {"coef": model.coef_, "intercept": model.intercept_}
    arrays["limits"], around = _codes(model.limits_), in_use(model)
    if around is not None:
        arrays |= {"centre": around.wide, "at_centre": around.at}
    if model.covariance_ is not None:
        arrays["covariance"] = model.covariance_
    for level, ends in model._intervals.items():
        arrays |= {f"{name} {level}": end for name, end in zip(ENDS, ends, strict=True)}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, {
        "classes": described(model.classes_),
        "reference": plain(model.reference_),
        "fit": {name: _number(getattr(model, name)) for name in NUMBERS},
        "n_rows": int(model.n_rows_),
        "total_weight": float(model._total_weight),
        "n_iter": int(model.n_iter_),
        "method": model.method_,
        "stop_reason": model.stop_reason_,
        "stop_sentence": model.stop_sentence_,
        "levels": list(model._intervals),
        "centred": around is not None,
        "separation": None if model.separation_ is None else model.separation_.to_json(),
    }


def rebuild(model: Any, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> int:
    """Set the fitted attributes of ``model`` and return its number of features."""
    model.classes_ = classes_of(**about["classes"])
    codes = [k for k, label in enumerate(model.classes_.tolist()) if label == about["reference"]]
    (last,) = codes
    model.reference_ = model.classes_.tolist()[last]
    model._order_of_classes = [k for k in range(model.classes_.size) if k != last] + [last]
    q, d = model.classes_.size - 1, arrays["coef"].shape[1]
    width = d + bool(model.fit_intercept)
    model._learnt_with = model.get_params(deep=False)
    model.coef_ = finite(arrays, "coef", (q, d))
    model.limits_ = _words(arrays["limits"], (q, width))
    model.intercept_ = _intercepts(arrays["intercept"], model.limits_)
    if about.get("centred"):  # files of earlier versions have no centre
        at = _intercepts(arrays["at_centre"], model.limits_)
        model._keep_centred(finite(arrays, "centre", (d,)), at)
    model.covariance_ = None
    if "covariance" in arrays:
        model.covariance_ = arrays["covariance"]
        if model.covariance_.shape != (q * width,) * 2 or model.covariance_.dtype != np.float64:
            raise ValueError(f"covariance of shape {model.covariance_.shape}")
    for name in NUMBERS:
        value = about["fit"][name]
        setattr(model, name, float("nan") if value is None else float(value))
    model.n_rows_, model.n_iter_ = count(about["n_rows"]), count(about["n_iter"])
    model._total_weight = float(about.get("total_weight", model.n_rows_))
    model.method_, model.stop_reason_ = str(about["method"]), str(about["stop_reason"])
    model.stop_sentence_ = str(about["stop_sentence"])
    model._intervals = {
        float(level): tuple(_ends(arrays[f"{name} {level}"], (q, width)) for name in ENDS)
        for level in about["levels"]
    }
    proof = about["separation"]
    model.separation_ = None if proof is None else linsep.from_json(proof)
    return d


def parameters(stored: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with present names: on_separation="firth" meant Firth's estimates for
    separable data only.
    """
    if stored.get("on_separation") != "firth":
        return stored
    penalty = "firth" if about["method"] == "Firth" else None
    return stored | {"on_separation": "warn", "penalty": penalty}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _codes(limits: np.ndarray) -> np.ndarray:
    """Return the limits as numbers, because model files hold numeric arrays."""
    return np.array([LIMITS.index(word) for word in limits.ravel()], np.uint8).reshape(limits.shape)


def _words(codes: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    if codes.shape != shape or codes.dtype != np.uint8:
        raise ValueError(f"limits of {codes.dtype} {codes.shape}")
    return np.array(LIMITS, dtype="U16")[codes]


def _intercepts(array: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the intercepts; only those of classes without weight may be infinite."""
    without = (limits == "no weight").any(axis=1)
    if array.shape != without.shape or array.dtype != np.float64:
        raise ValueError(f"intercept of {array.dtype} {array.shape}")
    if np.isnan(array).any() or (np.isinf(array) != without).any():
        raise ValueError("invalid intercepts")
    return array


def _ends(array: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return ends of intervals, which may be infinite."""
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"intervals of {array.dtype} {array.shape}")
    return array
