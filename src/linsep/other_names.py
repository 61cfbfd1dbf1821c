"""What names of options in other programs are called here: advice where one is typed.

Names that look alike often mean something else: ``alpha`` is no ``gamma``.
"""

from linsep.errors import Hint, hint

_NO_PENALTY = hint("the only penalty on weights is {} of a logistic regression", l2=None)
_ONE_PENALTY = hint("penalties are not tried one after the other: {} is one number", l2=None)
_PASSES = hint("the number of passes is {}", max_iter=None)
_RATE = hint("the learning rate is {}", learning_rate=None)
_SCHEDULE = hint("rates fall with {}", schedule="inverse")
_SEED = hint("the seed is {}", random_state=None)
_NO_TOLERANCE = hint("there is no tolerance: the most passes are {}", max_iter=None)
_GAP = hint("a soft margin stops at the relative gap {}", tol=None)
_NO_THREADS = Hint("none is needed, as all processors work on one pass", {})
_HELD_OUT = hint("rows are held out with {} only", early_stopping=True)
_LEARNER = hint(
    "what is minimized is chosen with {}, linear, soft-margin and others", learner="logistic"
)
_CACHE = hint("the cache is automatic, and left out with {}", no_cache=True)
_TARGET = hint("the label column is {}", target=None)
_INCLUDE = hint("columns are chosen with {}", include=None)
_EXCLUDE = hint("columns are left out with {}", exclude=None)
_MISSING = hint("rows with missing values are left out with {}", missing="drop")
_NULLS = hint("what stands for a missing value is {}", null_values=None)
_LEVEL = hint("the level to compare with is {}", reference_level=None)
_SCALE = hint("columns are scaled with {}", scale="standard")
_AUDIT = Hint("`linsep audit MODEL DATA` shows features and weights of a row", {})
_DASK = Hint("a Dask cluster is `--dask ADDRESS`, in Python `linsep.distributed`", {})
_ROBUST = hint("robust standard errors are {}", covariance="HC3")
_DATA = Hint("files are named without an option", {})

#: scikit-learn, with pandas, Dask and neural networks beside it
OF_SCIKIT_LEARN = {
    "seed": _SEED, "random_seed": _SEED, "epochs": _PASSES, "n_epochs": _PASSES,
    "num_epochs": _PASSES, "max_epochs": _PASSES, "n_iter": _PASSES, "iterations": _PASSES,
    "max_iterations": _PASSES, "lr": _RATE, "eta": _RATE, "eta0": _RATE, "step_size": _RATE,
    "learning_rate_init": _RATE, "alpha": _NO_PENALTY, "l1_ratio": _NO_PENALTY,
    "reg": _NO_PENALTY, "reg_lambda": _NO_PENALTY, "weight_decay": _NO_PENALTY,
    "C": hint("give 1/C as {} of a logistic regression", l2=None), "Cs": _ONE_PENALTY,
    "penalty": _NO_PENALTY, "tol": _NO_TOLERANCE, "n_jobs": _NO_THREADS,
    "threads": _NO_THREADS, "average": hint("weights are averaged with {}", keep="average"),
    "multi_class": hint("several classes are learned as {} says", multiclass=None),
    "dual": Hint("nothing chooses it: soft margins solve whichever problem is quicker", {}),
    "gap": _GAP, "epsilon": _GAP, "shrinking": Hint("rows are set aside without an option", {}),
    "intercept_scaling": hint("the intercept is no weight, unless with {}",
                              penalize_intercept=True),
    "probability": hint("probabilities are learned from held-out rows with {}", calibrate=None),
    "decision_function_shape": hint("several classes are learned as {} says", multiclass=None),
    "nu": hint("errors cost {}, and no share of them is given", C=None),
    "cache_size": hint("memory of a kernel is {}", cache_mb=None), "loss": _LEARNER,
    "sample_weight": hint("the column of weights is {}", weight=None),
    "normalize": _SCALE, "standard_scaler": _SCALE, "drop_first": hint(
        "the level to compare with is {}", reference_level="first"),
    "label": _TARGET, "label_column": _TARGET, "features": _INCLUDE, "usecols": _INCLUDE,
    "drop": _EXCLUDE, "index_col": _EXCLUDE, "na_values": _NULLS,
    "sep": hint("the delimiter is {}", delimiter=None),
    "separator": hint("the delimiter is {}", delimiter=None),
    "skiprows": hint("lines are skipped with {}", skip_rows=None),
    "test_size": Hint("`linsep split DATA --test 0.2` holds rows out", {}),
    "cluster": _DASK,
}  # fmt: skip
#: R: glm, glmnet, sandwich, svm of e1071, and what reads data for them
OF_R = {
    "cost": hint("the cost of errors is {} of a soft margin", C=None),
    "type": hint("support vector machines are {} or kernel-soft-margin", learner="soft-margin"),
    "cross": hint("folds are {}", cv=None),
    "family": _LEARNER, "link": _LEARNER, "lambda": _NO_PENALTY, "nlambda": _ONE_PENALTY,
    "lambda_min_ratio": _ONE_PENALTY, "maxit": _PASSES, "thresh": _NO_TOLERANCE,
    "na_action": _MISSING, "na_rm": _MISSING, "na_strings": _NULLS, "standardize": _SCALE,
    "contrasts": _LEVEL, "ref": _LEVEL, "relevel": _LEVEL, "response": _TARGET,
    "weights": hint("the column of weights is {}", weight=None),
    "dec": hint("the sign before fractions is {}", decimal=None),
    "intercept": hint("the intercept is left out with {}", fit_intercept=False),
    "vcov": _ROBUST, "cov_type": _ROBUST, "robust": _ROBUST,
}  # fmt: skip
OF_VOWPAL_WABBIT = {
    "passes": _PASSES, "l": _RATE, "power_t": _SCHEDULE, "initial_t": _SCHEDULE,
    "b": hint("names are hashed to as many bits as {} says", hash_bits=None),
    "bit_precision": hint("names are hashed to as many bits as {} says", hash_bits=None),
    "d": _DATA, "data": _DATA, "f": hint("the file of the model is {}", model=None),
    "final_regressor": hint("the file of the model is {}", model=None),
    "t": Hint("`linsep predict MODEL DATA` and `linsep score MODEL DATA` do not learn", {}),
    "testonly": Hint("`linsep predict MODEL DATA` and `linsep score` do not learn", {}),
    "i": Hint("`linsep predict MODEL DATA` takes a model", {}),
    "initial_regressor": Hint("`linsep predict MODEL DATA` takes a model", {}),
    "p": Hint("`linsep predict MODEL DATA --output FILE` writes predictions", {}),
    "predictions": Hint("`linsep predict MODEL DATA --output FILE` writes them", {}),
    "q": hint("namespaces are multiplied with {}", interactions=None),
    "quadratic": hint("namespaces are multiplied with {}", interactions=None),
    "ignore": hint("namespaces are left out with {}", ignore_namespaces=None),
    "noconstant": hint("the intercept is left out with {}", fit_intercept=False),
    "c": _CACHE, "k": _CACHE, "cache_file": _CACHE, "kill_cache": _CACHE,
    "holdout_off": _HELD_OUT, "holdout_period": _HELD_OUT, "early_terminate": _HELD_OUT,
    "loss_function": _LEARNER, "l1": _NO_PENALTY,
    "oaa": hint("several classes are learned as {} says", multiclass="ovr"),
    "a": _AUDIT, "audit": _AUDIT, "invert_hash": _AUDIT, "readable_model": _AUDIT,
    "ngram": hint("words of text columns are joined with {}", ngrams=None),
}  # fmt: skip
_ALL = OF_VOWPAL_WABBIT | OF_R | OF_SCIKIT_LEARN


def advice_for(name: str) -> Hint | None:
    """Return what the option of another program is here; None if the name is of no other."""
    return _ALL.get(name.lstrip("-").replace("-", "_").replace(".", "_").removesuffix("_"))
