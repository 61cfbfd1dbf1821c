"""Names of options that people know from scikit-learn, R and Vowpal Wabbit, and ours for them.

Similar names often mean different things: ``alpha`` is not ``gamma``.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from linsep.errors import Hint, hint

_PENALTY = hint("the penalty on weights is {} of linear and logistic regression", l2=None)
_PASSES = hint("set the number of passes with {}", max_iter=None)
_RATE = hint("set the learning rate with {}", learning_rate=None)
_LEARNER = hint("choose the loss with {}, linear, soft-margin and others", learner="logistic")
_CLASSES = hint("choose how to train several classes with {}", multiclass=None)
_CLUSTERS = Hint('name their column with group="COLUMN" (--cluster-by COLUMN)', {})
_PREDICT = Hint("`linsep predict MODEL DATA` and `linsep score MODEL DATA` do not learn", {})
_ADVICE = {
    "alpha": _PENALTY, "lambda": _PENALTY, "penalty": _PENALTY, "l1_ratio": _PENALTY,
    "C": hint("give 1/C as {} of a logistic regression", l2=None),
    "cost": hint("set the cost of errors with {} of a soft margin", C=None),
    "epochs": _PASSES, "n_iter": _PASSES, "maxit": _PASSES, "passes": _PASSES,
    "tol": hint("there is no tolerance; set the maximum number of passes with {}", max_iter=None),
    "lr": _RATE, "eta": _RATE, "eta0": _RATE, "l": _RATE,
    "loss": _LEARNER, "loss_function": _LEARNER, "family": _LEARNER,
    "seed": hint("set the seed with {}", random_state=None),
    "n_jobs": Hint("not needed: linsep uses all processors", {}),
    "average": hint("average weights with {}", keep="average"),
    "multi_class": _CLASSES, "oaa": _CLASSES,
    "normalize": hint("scale columns with {}", scale="standard"),
    "na_values": hint("name missing values with {}", null_values=None),
    "sep": hint("set the delimiter with {}", delimiter=None),
    "label": hint("name the label column with {}", target=None),
    "weights": hint("name the column of weights with {}", weight=None),
    "cov_type": hint("robust standard errors: {}", covariance="HC1"),
    "cluster": _CLUSTERS, "clusters": _CLUSTERS, "cluster_by": _CLUSTERS,
    "l2": hint("{} and others have this penalty", learner="logistic"),
    "b": hint("set the number of hash bits with {}", hash_bits=None),
    "q": hint("multiply namespaces with {}", interactions=None),
    "f": hint("name the model file with {}", model=None),
    "t": _PREDICT, "i": _PREDICT, "p": _PREDICT,
}  # fmt: skip
_MEANT = {"ridge": "linear", "ols": "linear", "svm": "soft-margin", "svc": "soft-margin"}


def advice_for(name: str) -> Hint | None:
    return _ADVICE.get(name.lstrip("-").replace("-", "_").replace(".", "_").removesuffix("_"))


def advice_on(name: str, known: Iterable[str]) -> list[str | Hint]:
    """Return the remedies for an option that is none of those ``known``."""
    return [told] if (told := advice_for(name)) else [*meant(name, known)] or ["leave it out"]


def meant(value: object, known: Iterable[str]) -> list[str]:
    """Return a question for a value that resembles one of those ``known``, or means the same."""
    text = str(value).lower()
    return [f"did you mean {x!r}?" for x in get_close_matches(_MEANT.get(text, text), known, 1)]
