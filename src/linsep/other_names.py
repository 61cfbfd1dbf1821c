"""Names of options in other programs, with the linsep options that replace them.

Similar names often mean different things: ``alpha`` is not ``gamma``.
"""

from linsep.errors import Hint, hint

_NO_PENALTY = hint("the penalty on weights is {} of linear and logistic regression", l2=None)
_ONE_PENALTY = hint("there is no path of penalties: {} is one number", l2=None)
_PASSES = hint("set the number of passes with {}", max_iter=None)
_RATE = hint("set the learning rate with {}", learning_rate=None)
_SCHEDULE = hint("decreasing rates are set with {}", schedule="inverse")
_SEED = hint("set the seed with {}", random_state=None)
_NO_TOLERANCE = hint(
    "there is no tolerance; set the maximum number of passes with {}", max_iter=None
)
_GAP = hint("a soft margin stops at the relative duality gap {}", tol=None)
_NO_THREADS = Hint("not needed: linsep uses all processors", {})
_HELD_OUT = hint("rows are only held out with {}", early_stopping=True)
_LEARNER = hint("choose the loss with {}, linear, soft-margin and others", learner="logistic")
_CACHE = hint("the cache is automatic; disable it with {}", no_cache=True)
_TARGET = hint("name the label column with {}", target=None)
_INCLUDE = hint("choose columns with {}", include=None)
_EXCLUDE = hint("exclude columns with {}", exclude=None)
_MISSING = hint("leave out rows with missing values with {}", missing="drop")
_NULLS = hint("name missing values with {}", null_values=None)
_LEVEL = hint("set the reference level with {}", reference_level=None)
_SCALE = hint("scale columns with {}", scale="standard")
_AUDIT = Hint("`linsep audit MODEL DATA` shows the features and weights of a row", {})
_DASK = Hint("use `--dask ADDRESS` for a Dask cluster, in Python `linsep.distributed`", {})
_ROBUST = hint("robust standard errors: {}", covariance="HC3")
_DATA = Hint("give files without an option", {})

#: scikit-learn, with pandas, Dask and neural networks beside it
OF_SCIKIT_LEARN = {
    "seed": _SEED, "random_seed": _SEED, "epochs": _PASSES, "n_epochs": _PASSES,
    "num_epochs": _PASSES, "max_epochs": _PASSES, "n_iter": _PASSES, "iterations": _PASSES,
    "max_iterations": _PASSES, "lr": _RATE, "eta": _RATE, "eta0": _RATE, "step_size": _RATE,
    "learning_rate_init": _RATE, "alpha": _NO_PENALTY, "l1_ratio": _NO_PENALTY,
    "reg": _NO_PENALTY, "reg_lambda": _NO_PENALTY, "weight_decay": _NO_PENALTY,
    "C": hint("give 1/C as {} of a logistic regression", l2=None), "Cs": _ONE_PENALTY,
    "penalty": _NO_PENALTY, "tol": _NO_TOLERANCE, "n_jobs": _NO_THREADS,
    "threads": _NO_THREADS, "average": hint("average weights with {}", keep="average"),
    "multi_class": hint("choose how to train several classes with {}", multiclass=None),
    "dual": Hint("not needed: soft margins solve whichever problem is faster", {}),
    "gap": _GAP, "epsilon": _GAP, "shrinking": Hint("shrinking is automatic", {}),
    "intercept_scaling": hint("the intercept is not penalized, unless with {}",
                              penalize_intercept=True),
    "probability": hint("calibrate probabilities on held-out rows with {}", calibrate=None),
    "decision_function_shape": hint("choose how to train several classes with {}", multiclass=None),
    "nu": hint("set the cost of errors with {}", C=None),
    "cache_size": hint("set the memory of a kernel with {}", cache_mb=None), "loss": _LEARNER,
    "sample_weight": hint("name the column of weights with {}", weight=None),
    "normalize": _SCALE, "standard_scaler": _SCALE,
    "drop_first": hint("set the reference level with {}", reference_level="first"),
    "label": _TARGET, "label_column": _TARGET, "features": _INCLUDE, "usecols": _INCLUDE,
    "drop": _EXCLUDE, "index_col": _EXCLUDE, "na_values": _NULLS,
    "sep": hint("set the delimiter with {}", delimiter=None),
    "separator": hint("set the delimiter with {}", delimiter=None),
    "skiprows": hint("skip lines with {}", skip_rows=None),
    "test_size": Hint("`linsep split DATA --test 0.2` holds rows out", {}),
    "cluster": _DASK,
}  # fmt: skip
#: R: glm, glmnet, sandwich, svm of e1071, and what reads data for them
OF_R = {
    "cost": hint("set the cost of errors with {} of a soft margin", C=None),
    "type": hint(
        "for support vector machines, use {} or kernel-soft-margin", learner="soft-margin"),
    "cross": hint("set the number of folds with {}", cv=None),
    "family": _LEARNER, "link": _LEARNER, "lambda": _NO_PENALTY, "nlambda": _ONE_PENALTY,
    "lambda_min_ratio": _ONE_PENALTY, "maxit": _PASSES, "thresh": _NO_TOLERANCE,
    "na_action": _MISSING, "na_rm": _MISSING, "na_strings": _NULLS, "standardize": _SCALE,
    "contrasts": _LEVEL, "ref": _LEVEL, "relevel": _LEVEL, "response": _TARGET,
    "weights": hint("name the column of weights with {}", weight=None),
    "dec": hint("set the decimal mark with {}", decimal=None),
    "intercept": hint("leave out the intercept with {}", fit_intercept=False),
    "vcov": _ROBUST, "cov_type": _ROBUST, "robust": _ROBUST,
}  # fmt: skip
OF_VOWPAL_WABBIT = {
    "passes": _PASSES, "l": _RATE, "power_t": _SCHEDULE, "initial_t": _SCHEDULE,
    "b": hint("set the number of hash bits with {}", hash_bits=None),
    "bit_precision": hint("set the number of hash bits with {}", hash_bits=None),
    "d": _DATA, "data": _DATA, "f": hint("name the model file with {}", model=None),
    "final_regressor": hint("name the model file with {}", model=None),
    "t": Hint("`linsep predict MODEL DATA` and `linsep score MODEL DATA` do not learn", {}),
    "testonly": Hint("`linsep predict MODEL DATA` and `linsep score` do not learn", {}),
    "i": Hint("pass the model to `linsep predict MODEL DATA`", {}),
    "initial_regressor": Hint("pass the model to `linsep predict MODEL DATA`", {}),
    "p": Hint("`linsep predict MODEL DATA --output FILE` writes predictions", {}),
    "predictions": Hint("`linsep predict MODEL DATA --output FILE` writes them", {}),
    "q": hint("multiply namespaces with {}", interactions=None),
    "quadratic": hint("multiply namespaces with {}", interactions=None),
    "ignore": hint("leave out namespaces with {}", ignore_namespaces=None),
    "noconstant": hint("leave out the intercept with {}", fit_intercept=False),
    "c": _CACHE, "k": _CACHE, "cache_file": _CACHE, "kill_cache": _CACHE,
    "holdout_off": _HELD_OUT, "holdout_period": _HELD_OUT, "early_terminate": _HELD_OUT,
    "loss_function": _LEARNER, "l1": _NO_PENALTY,
    "oaa": hint("choose how to train several classes with {}", multiclass="ovr"),
    "a": _AUDIT, "audit": _AUDIT, "invert_hash": _AUDIT, "readable_model": _AUDIT,
    "ngram": hint("set n-grams of text columns with {}", ngrams=None),
}  # fmt: skip
_ALL = OF_VOWPAL_WABBIT | OF_R | OF_SCIKIT_LEARN


def advice_for(name: str) -> Hint | None:
    """Return advice for an option of another program; None for an unknown name."""
    return _ALL.get(name.lstrip("-").replace("-", "_").replace(".", "_").removesuffix("_"))
