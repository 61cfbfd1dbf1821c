"""Small fits whose numbers are recorded: each function yields names with numbers.

Rows are whole numbers and halves, whose sums are exact in any order. What must have the same bits
(arrays, files, caches, resumed fits, loaded models) is asserted here and recorded once.
"""

import hashlib
import itertools
import json
import warnings
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

import linsep
from command_line import here
from interrupting import Press
from linsep import (
    AROW,
    SCW,
    BalancedWinnow,
    GaussianNaiveBayes,
    KernelPerceptron,
    KernelSoftMargin,
    LinearRegression,
    LogisticRegression,
    MarginPerceptron,
    OnlineLogistic,
    PassiveAggressive,
    Perceptron,
    SoftMargin,
    Winnow,
    check,
    datasets,
    kernels,
)
from linsep.compiled.jit import COMPILING
from thoroughness import THOROUGH

KEEPS, SCHEMES = ("last", "average", "vote", "best"), ("binary", "native", "ovr", "ovo")
#: learners with a weight for every feature
ONLINE = {
    "perceptron": Perceptron(),
    "schedule": Perceptron(schedule="inverse", learning_rate=3.0),
    "batch": Perceptron(update="batch"),
    "margin": MarginPerceptron(gamma=0.25, epsilon=0.5),
    "halving": MarginPerceptron(),
    "pa": PassiveAggressive(C=0.25),
    "pa2": PassiveAggressive(loss="squared_hinge", C=0.25),
    "winnow": Winnow(promotion=1.5),
    "balanced": BalancedWinnow(promotion=1.3),
    "arow": AROW(),
    "scw": SCW(),
    "online-logistic": OnlineLogistic(),
}
ROUNDED = ("scw", "online-logistic")
#: the scheme that is compiled of each rule; "halving" and "pa2" are the loops of "margin" and "pa"
COMPILED = {
    "perceptron": "binary",
    "schedule": "ovr",
    "batch": "ovo",
    "margin": "binary",
    "pa": "native",
    "winnow": "ovr",
    "balanced": "ovo",
    "arow": "native",
    "scw": "ovr",
    "online-logistic": "ovr",
}
n = np.arange(48)
X = np.array(
    [[(k * 5 + k * k) % 9 - 4, (k * 7 + k * k) % 7 - 3, (k * 3 + k * k) % 11 / 2] for k in n]
)
NEW = np.array([[1.0, -2.0, 0.5], [-3.0, 1.0, 1.5], [0.0, 0.5, 4.0], [2.0, 2.0, 2.0]])
TWO, THREE = n % 2, (n * 2 + n // 5) % 3
WEIGHTS = 1.0 + n % 3
#: a number, and a label, that depend on the features
NUMBER = X @ [2.0, -1.0, 0.5] + (n * 5) % 7
LABEL = np.where(n % 6 == 0, NUMBER <= 4, NUMBER > 4).astype(int)
CUT = np.array([[0, 0], [1, 0], [2, 1], [0, 3], [1, 0], [1, 1]])


def with_parameters(model, **parameters):
    return type(model)(**model.get_params() | parameters)


def weights(model):
    if isinstance(model, KernelPerceptron):
        return np.concatenate([np.ravel(model.dual_coef_), np.ravel(model.support_)])
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])


def not_zero(model):
    """The columns and the values of the weights of a model of many hashed columns."""
    (columns,) = np.nonzero(weights(model))
    return [columns, weights(model)[columns]]


def same(model, other):
    assert weights(model).tobytes() == weights(other).tobytes(), type(model).__name__


def write_svmlight(path, X, y):
    lines = [
        " ".join([f"{label:g}", *(f"{j}:{value:g}" for j, value in enumerate(row, 1) if value)])
        for label, row in zip(y.tolist(), X.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def online(folder):
    """Learners whose rules have sums, products, quotients and roots only."""
    yield from learned(folder, {name: ONLINE[name] for name in ONLINE if name not in ROUNDED})


def rounded(folder):
    """Learners whose rules call functions that machines round differently."""
    yield from learned(folder, {name: ONLINE[name] for name in ROUNDED})


def learned(folder, models):
    """Every learner with every keep and every scheme it has, or, compiled, every rule with one."""
    for a, (name, model) in enumerate(models.items()):
        rows = np.abs(X) if model.positive_only else X
        native = name in ("perceptron", "batch", "pa", "arow")
        for b, scheme in enumerate(SCHEMES):
            if scheme == "native" and not native:
                continue
            if COMPILING and not THOROUGH and COMPILED.get(name) != scheme:
                continue
            keep = KEEPS[(a + b) % 4]
            y = TWO if scheme == "binary" else THREE
            given = {"max_iter": 3, "random_state": 7, "keep": keep}
            if scheme != "binary":
                given["multiclass"] = scheme
            fitted = with_parameters(model, **given).fit(rows, y)
            yield f"{name} {scheme} {keep}", [weights(fitted), fitted.mistakes_]
            yield f"{name} {scheme} {keep} scores", fitted.decision_function(np.abs(NEW))
            if scheme == "binary":
                yield from elsewhere(folder, name, with_parameters(model, **given), rows, y, fitted)


def elsewhere(folder, name, model, rows, y, fitted):
    """The same fit from other storages, interrupted, and saved."""
    path = folder / f"{name}.svm"
    write_svmlight(path, rows, y)
    same(fitted, with_parameters(model).fit(linsep.open_source(path)))
    same(with_parameters(model).fit(sp.csr_array(rows), y), fitted)
    cached = linsep.open_source(path, cache=folder / "cache")
    cached.memory_bytes = 1
    same(fitted, with_parameters(model).fit(cached))
    assert any((folder / "cache").iterdir())
    checkpoint = folder / f"{name}.checkpoint"
    with suppress(KeyboardInterrupt):
        with_parameters(model).set_callbacks(Press(1)).fit(rows, y, checkpoint=checkpoint)
    assert checkpoint.exists()
    same(fitted, with_parameters(model).fit(rows, y, checkpoint=checkpoint))
    loaded = linsep.load(linsep.save(fitted, folder / f"{name}.linsep"))
    same(fitted, loaded)
    assert (loaded.decision_function(NEW) == fitted.decision_function(NEW)).all()
    yield f"{name} weighted", weights(with_parameters(model).fit(rows, y, sample_weight=WEIGHTS))


def kernel(folder):
    """Kernel perceptrons, kernels of numbers and of strings."""
    words = ["banana", "bandana", "cabana", "kimono", "kirin", "mimik", "ananas", ""]
    names = ("poly", "rbf", "all-subsets") if THOROUGH or not COMPILING else ("poly",)
    for name, scheme, keep in zip(names, SCHEMES[1:], KEEPS, strict=False):
        model = KernelPerceptron(kernel=name, multiclass=scheme, keep=keep, max_iter=3)
        fitted = model.fit(X / 4, THREE)
        yield f"{name} {scheme} {keep}", [weights(fitted), fitted.mistakes_]
        yield f"{name} scores", fitted.decision_function(NEW)
        loaded = linsep.load(linsep.save(fitted, folder / f"{name}.linsep"))
        assert (loaded.decision_function(NEW) == fitted.decision_function(NEW)).all()
    spectrum = KernelPerceptron(kernel=kernels.Spectrum(2), max_iter=5, keep="last")
    yield "strings", weights(spectrum.fit(words[:6], [1, 1, 1, 0, 0, 0]))
    for kind in (
        kernels.Spectrum(2),
        kernels.BlendedSpectrum(3),
        kernels.Normalized(kernels.Spectrum(2)),
    ):
        yield str(kind), kind(words)
    yield "sum", (kernels.RBF(2.0) + 0.5 * kernels.Polynomial(degree=2))(NEW)


def regressions(folder):
    """Both regressions and naive Bayes, from arrays and files."""
    dependent = np.column_stack([X, X[:, 0] - X[:, 1]])
    for name, model, rows, y, weight in (
        ("linear", LinearRegression(), X, NUMBER, None),
        (
            "frequencies",
            LinearRegression(fit_intercept=False, weight_type="frequency"),
            X,
            NUMBER,
            WEIGHTS,
        ),
        ("precisions", LinearRegression(covariance="HC3"), X, NUMBER, WEIGHTS),
        ("dependent", LinearRegression(), dependent, NUMBER, None),
        ("ridge", LinearRegression(l2=0.5), X, NUMBER, None),
        ("logistic", LogisticRegression(), X, LABEL, None),
        ("robust", LogisticRegression(covariance="HC1"), X, LABEL, None),
        ("penalized", LogisticRegression(l2=0.5), X, LABEL, WEIGHTS),
        ("classes", LogisticRegression(), X, (THREE + LABEL) % 3, None),
        ("separated", LogisticRegression(), X, (X[:, 0] > 0).astype(int), None),
        ("firth", LogisticRegression(penalty="firth", intervals="profile"), X, LABEL, None),
        (
            "firth separated",
            LogisticRegression(penalty="firth"),
            X,
            (X[:, 0] > 0).astype(int),
            None,
        ),
    ):
        fitted = with_parameters(model).fit(rows, y, sample_weight=weight)
        yield f"{name} coefficients", fitted.coef_
        yield f"{name} intercept", fitted.intercept_
        if model.get_params().get("l2", 0) == 0:
            yield f"{name} covariance", fitted.covariance_
            yield f"{name} intervals", fitted.confidence_intervals()
            yield f"{name} p", fitted.p_values_
        if isinstance(model, LogisticRegression):
            yield f"{name} probabilities", fitted.predict_proba(np.resize(NEW, (4, rows.shape[1])))
            yield f"{name} limits", fitted.limits_
        if weight is None and "dependent" not in name:
            path = folder / f"{name}.svm"
            write_svmlight(path, rows, y)
            same(fitted, with_parameters(model).fit(linsep.open_source(path)))
            loaded = linsep.load(linsep.save(fitted, folder / f"{name}.linsep"))
            assert (loaded.predict(NEW) == fitted.predict(NEW)).all()
    for y in (TWO, THREE):
        bayes = GaussianNaiveBayes().fit(X, y, sample_weight=WEIGHTS)
        yield f"naive Bayes {y[1]}", [bayes.means_, bayes.variances_, bayes.predict_proba(NEW)]
    x, y = datasets.load_blood_pressure(return_X_y=True)
    pressure = LinearRegression().fit(x, y)
    yield "blood pressure", [*pressure.coef_, pressure.intercept_, pressure.correlation_]


def soft_margins(folder):
    """Both soft margins, to their gaps."""
    for loss, penalized in itertools.product(("hinge", "squared_hinge"), (False, True)):
        model = SoftMargin(C=1.0, loss=loss, penalize_intercept=penalized, tol=1e-10)
        yield f"{loss} {penalized}", weights(model.fit(X, LABEL))
    model = KernelSoftMargin(kernel="poly", C=1.0, tol=1e-8).fit(X / 4, LABEL)
    yield "kernel", model.decision_function(NEW)
    path = linsep.soft_margin_path(X, LABEL, [0.1, 1.0, 10.0])
    yield "path", [path.errors, path.norms, path.objectives]


def verdicts(folder):
    """Verdicts, each judged by the independent checker."""
    gap = 10 * TWO[:, None] * [1, 0, 1] + X
    A = np.array(
        [[1, 2, 0], [2, 1, 1], [0, 3, 1], [4, 1, 0], [2, 2, 0], [3, 0, 1], [1, 1, 0], [0, 0, 0]]
    )
    sets = {
        "apart": (gap, TWO),
        "overlap": (X, TWO),
        "three": (X + 30 * THREE[:, None] * [1, 0, THREE[3]], THREE),
        "quasi": (CUT, np.array([0, 0, 1, 1, 1, 1])),
        "xor": (np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]), np.array([1, 0, 0, 1])),
        "notes": (np.array([[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]]), np.array([0, 1, 1, 1, 0])),
        "cover": (A, np.array([0, 1, 1, 0, 0, 1, 0, 1])),
    }
    for name, (rows, y) in sets.items():
        for intercept in (True, False):
            found = linsep.separation(
                rows, y, fit_intercept=intercept, margin="max", errors=len(y) < 9
            )
            found.verify(rows, y)
            data, proof = folder / "data.svm", folder / "proof.json"
            write_svmlight(data, rows, y)
            proof.write_text(found.to_json())
            assert check.check(proof.read_text(), *check.read(data, None, []))
            about = json.loads(found.to_json())
            yield f"{name} {intercept} data", about["data"]["sha256"]
            for number, one in enumerate(about["verdicts"]):
                yield f"{name} {intercept} {number}", one["kind"]
                yield f"{name} {intercept} {number} margin", one.get("margin")
                yield f"{name} {intercept} {number} errors", _errors(one)
            if hasattr(found, "limits"):
                yield f"{name} {intercept} limits", found.limits()
    cycle = Perceptron(shuffle=False, max_iter=50).fit(
        [[0, 1], [1, 0], [1, 1], [0, 0]], [0, 0, 1, 1]
    )
    yield "cycle", [cycle.mistakes_, weights(cycle)]
    assert cycle.cycle_ is not None


def _errors(verdict):
    errors = verdict.get("errors") or {}
    return [errors.get("least"), errors.get("most")]


def theory(folder):
    """Bounds, margins and chance."""
    gap = 10 * TWO[:, None] * [1, 0, 1] + X
    model = Perceptron(shuffle=False, max_iter=500).fit(gap, TWO)
    for margin in ("functional", "geometric", "cosine", "l1"):
        yield margin, getattr(linsep, f"{margin}_margin")(model, gap, TWO)
    for bound in linsep.bounds(gap, TWO).bounds:
        yield bound.name, bound.value
    for bound in model.bounds(gap, TWO).bounds:
        yield f"run {bound.name}", bound.value
    yield "dichotomies", str(linsep.dichotomies(100, 60).separable)
    yield "transition", linsep.phase_transition(0.0, 2.0)
    distance = linsep.total_distance(X, TWO, 0.5)
    yield "total distance", [float(distance.low), float(distance.high)]


def tables(folder):
    """Tables with text, missing values, units and formulas; files that commands write."""
    for name, options in {
        "numbers and text": {"target": "let", "exclude": ["id", "day"]},
        "missing": {"target": "let", "exclude": ["id", "day"], "missing": "mean"},
        "formula": {"formula": "price ~ area * floor + C(town)", "learner": "linear"},
        "weights": {
            "target": "large",
            "exclude": ["id", "let", "day", "owner"],
            "weight": "weight",
            "learner": "logistic",
            "l2": 1.0,
        },
    }.items():
        file = folder / ("gaps.csv" if name == "missing" else "flats.csv")
        model = linsep.fit(file, **options)
        yield name, weights(model)
        yield f"{name} predictions", model.predict(folder / "flats-new.csv")
        for other in ("flats.parquet", "flats.jsonl", "flats.csv.gz"):
            if name != "missing":
                same(model, linsep.fit(folder / other, **options))
    yield "text", not_zero(linsep.fit(folder / "messages.csv", target="kind", text="message"))
    yield "vw", not_zero(linsep.fit(folder / "ratings.vw"))
    left_out = "--exclude id --exclude day --exclude owner"
    for command in (
        f"convert flats.csv flats.svm --target large {left_out}",
        "convert ratings.vw ratings.svm --hash-bits 6",
        f"convert gaps.csv gaps.svm --target let {left_out} --missing mean --scale standard",
        "split flats.csv --test 0.2 --target let",
    ):
        assert here(*command.split(), cwd=folder).returncode == 0, command
    for file in ("flats.svm", "ratings.svm", "gaps.svm", "flats-train.csv", "flats-test.csv"):
        yield file, hashlib.sha256((folder / file).read_bytes()).hexdigest()


#: groups of fits, each with the relative tolerance of its numbers: 0 means the same bits
GROUPS = {
    online: 0.0,
    rounded: 1e-10,
    kernel: 1e-10,
    regressions: 1e-10,
    soft_margins: 1e-6,
    verdicts: 1e-6,
    theory: 1e-10,
    tables: 1e-10,
}


def plain(value):
    """Numbers as lists of floats; text and counts as they are."""
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist()) if np.ndim(value) else plain(value.item())
    if hasattr(value, "lower") and hasattr(value, "upper") and not isinstance(value, str):
        return [float(value.lower), float(value.upper)]
    return float(value) if isinstance(value, float | int) else value


def numbers_of(group, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: plain(value) for name, value in group(folder)}
