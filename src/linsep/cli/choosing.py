"""What ``tune`` does: compare models on held-out rows or in folds, and train the best."""

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np

from linsep._system.interrupts import interrupts_allowed
from linsep.catalog import ESTIMATORS, LEARNERS, LINEAR, USUAL_LEARNER
from linsep.cli import learner_options as learners, output, report
from linsep.errors import DataError, ParameterError
from linsep.fitting import as_pipeline, chosen_learner, opened_for, with_intercept
from linsep.parameters import parameters_of
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS, gaps_of
from linsep.scoring.metrics import METRICS
from linsep.sources.base import Source
from linsep.sources.opening import open_source
from linsep.tuning import Candidate, SideBySide, compare, grids_of
from linsep.words import counted, percent

#: most lines of the table; JSON has all
MOST_LINES = 20
UNSAVED = "not saved; --model FILE trains the best on all rows"


class Tuned(output.Result):
    """Models compared, the best first; see :func:`linsep.tune`."""

    _source: Source

    @property
    def fitted(self) -> Any:
        """The best model, trained on all rows: a :class:`TablePipeline` or an estimator."""
        return as_pipeline(self._model, self._source)

    def lines(self) -> Iterator[str]:
        found, models, metric = vars(self), self.models, METRICS[self.metric]
        more = [name for name in ("passes", "stop_reason") if name in models[0]]
        lines = []
        for one in models:
            texts = {n: f"{x:g}" if isinstance(x, float) else str(x).lower()
                     for n, x in one["parameters"].items()}  # fmt: skip
            mean, behind = (
                report.with_error(self.metric, one[of], one[error])
                for of, error in (("mean", "standard_error"), ("behind", "behind_standard_error"))
            )
            values = " ".join(f"{name}={text}" for name, text in texts.items()) or "-"
            behind = behind if one["behind"] or one["behind_standard_error"] else "-"
            lines.append([one["learner"], values, mean, behind, *(str(one[n]) for n in more)])
        names = [" ".join(line[:2]).removesuffix(" -") for line in lines]
        chosen, unit = names[0], "%" * metric.is_share
        if found.get("one_se") and models[0]["behind"] > 0:
            best_of_all = min(range(len(models)), key=lambda k: models[k]["behind"])
            chosen += f"; the simplest within one standard error of {names[best_of_all]}"
        rows = counted(found.get("held_out_rows", 0), "held-out row")
        where = f"in {report.folds_text(found)}" if "folds" in found else f"of {rows}"
        baseline = "" if self.baseline is None else f"; baseline {percent(self.baseline)}"
        many = len({one["learner"] for one in models})
        of = f"{counted(len(models), 'model')} of {counted(many, 'learner')}"
        dropped = sum(one.get("stop_reason") == "dropped" for one in models)
        spared, test = f", {dropped:,} dropped early" * bool(dropped), found.get("test")
        yield from output.pairs([
            ("best", chosen),
            (metric.title, f"{lines[0][2]}{unit} {where}{baseline}"),
            ("test", test and report.how_good(test)),
            *(report.metric_pairs(test) if "accuracy" in (test or {}) else []),
            ("compared", f"{of} on {counted(self.rows, 'row')}{spared}"),
            *report.gap_pairs(found, self._source.recipe()),
            ("time", f"total {self.seconds:.2f} s"),
            ("model", "command" in found and (found["model"] or UNSAVED)),
            ("command", found.get("command")),
        ])  # fmt: skip
        heading = ["learner", "parameters", metric.title + ", %" * bool(unit), "behind", *more]
        table = [line[many == 1 :] for line in [[x.replace("_", " ") for x in heading], *lines]]
        yield ""
        yield from output.table(table[0], table[1:], most=MOST_LINES)


def tune(
    data: Any, target: str | None = None, *, learner: str | Sequence[str] | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None, cv: int | None = None, repeats: int = 1,
    by_time: bool = False, metric: str | None = None, one_se: bool = False, refit: bool = True,
    random_state: int = 0, class_weight: Any = None, reference: Any = None, **options: Any,
) -> Tuned:  # fmt: skip
    """Compare models on rows that they were not trained on, and train the best, as ``linsep tune``
    does.

    Parameters
    ----------
    data : data frame, Arrow table, path or list of paths, or Source
    target, random_state, class_weight, reference : as for :func:`linsep.fit`
    learner : str or list of str, of several the simplest first; None: as for :func:`linsep.fit`
    grid : dict of parameter to list of values, default None
        Values to compare; "pa.C" is a parameter of one of several learners. None, with `cv`: a
        small grid of each learner.
    cv : int, default None
        Number of folds. None: one learner of a weight per feature, on a fifth of the rows.
    repeats, by_time : int, default 1, and bool, default False
        How often rows are divided into folds; whether they are in time order, and folds are
        predicted from earlier ones.
    metric : str, default "accuracy", or "r2" for regressions
        What to compare in folds, such as "log_loss".
    one_se : bool, default False
        Whether to choose the simplest model within one standard error of the best.
    refit : bool, default True
        Whether to train the best model on all rows.
    **options : arguments of :func:`open_source`, and parameters of all models

    Returns
    -------
    Tuned
        ``print`` it. Attributes, also as plain JSON by ``to_dict()``: the ``learner`` and its
        ``best`` parameters, the ``metric``, and ``models``, the best first, each with its "mean",
        "standard_error" and how far it is "behind". ``fitted`` is the best model, as of
        :func:`linsep.fit`.

    Raises
    ------
    ParameterError
        For unknown learners, parameters and metrics.
    DataError
        For rows that cannot be learned or divided.

    Examples
    --------
    >>> import linsep
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True).frame
    >>> found = linsep.tune(iris, "target", learner="logistic", grid={"l2": [0.1, 1, 10]}, cv=5)
    >>> found.best
    {'l2': 0.1}
    """
    started, names = perf_counter(), [learner] if isinstance(learner, str) else [*(learner or ())]
    if unknown := [name for name in names if name not in ESTIMATORS]:
        told = f"learner is {unknown[0]!r}: choose one of {', '.join(ESTIMATORS)}."
        raise ParameterError(told, option="learner", value=unknown[0])
    reading = signature(open_source).parameters
    how = {name: value for name, value in options.items() if name in reading}
    given = {name: x for name, x in options.items() if name not in how and x is not None}
    first, formula = names[0] if len(names) == 1 else USUAL_LEARNER, how.get("formula")
    source = data
    if not isinstance(source, Source):
        intercept = with_intercept(first, formula, given).get("fit_intercept") is not False
        source = opened_for(first, data, target=target, intercept=intercept, **how)
    named = given | {name.rpartition(".")[2]: values for name, values in (grid or {}).items()}
    names = names or [chosen_learner(source, named)[0]]
    common = {"random_state": random_state, "class_weight": class_weight, "reference": reference}
    if cv is None:
        if metric or one_se or by_time or repeats != 1:
            told = "metric, one_se, by_time and repeats need cv, a number of folds."
            raise ParameterError(told, option="cv")
        given = with_intercept(names[0], formula, given)
        found = _on_one_hold_out(source, names, grid, given, common, refit)
    else:
        from linsep.cross_validation import Folds

        folds = Folds(cv, repeats, by_time, random_state=random_state)
        metric = metric or ("r2" if names == ["linear"] else "accuracy")
        _check(names, metric, given)
        each = {
            name: with_intercept(name, formula, {n: given[n] for n in own if n in given})
            for name, own in ((name, parameters_of(ESTIMATORS[name])) for name in names)
        }
        found = _in_folds(source, grid, each, common, folds, metric, one_se, refit)
    vars(found).update(gaps_of(found._source), seconds=round(perf_counter() - started, 4))
    return found


def _on_one_hold_out(
    source: Source, names: list[str], grid: Any, given: dict[str, Any], common: dict[str, Any],
    refit: bool,
) -> Tuned:  # fmt: skip
    learner = names[0]
    if len(names) > 1 or not {*names} <= LINEAR.keys() or not grid:
        told = f"Without cv, name one learner of {', '.join(LINEAR)}, and a grid of values."
        raise ParameterError(told, option="learner")
    models = []
    for values in grids_of(grid, {learner: given})[learner]:
        own = given | values | {"early_stopping": True}
        models.append((values, learners.make_learner("tune", learner, own, **common)))
    race = SideBySide(models, source)

    def learn_best(source: Source) -> Any:
        own = given | {"validation_fraction": None} | race.best.values
        race.final = learners.make_learner("fit", learner, own, **common)
        with interrupts_allowed():
            return race.final.fit(source) if refit else None

    with output.watching(source, race):
        race.run(learn_best)
    return Tuned(
        _model=race.final, _source=race.source, learner=learner, best=race.best.values,
        metric="accuracy", baseline=race.baseline, rows=race.n_rows,
        held_out_rows=race.best.missed.wrong.size,
        passes=sum(fit.course.number for fit in race.fits),
        models=[{"learner": learner, **one} for one in race.to_dicts()],
        cache=None if race.source.kept is None else str(race.source.kept),
    )  # fmt: skip


def _in_folds(
    source: Source, grid: Any, each: dict[str, Any], common: dict[str, Any], folds: Any,
    metric: str, one_se: bool, refit: bool,
) -> Tuned:  # fmt: skip
    from linsep.cross_validation import kept, labeled_rows

    positive = [n for n in each if n in LEARNERS and LEARNERS[n].positive_only]
    if len(each) > 1 and positive and source.options().get("scale", "none") != "none":
        told = f"{positive[0]} does not accept scaled columns: tune it alone, or without scaling."
        raise DataError(told, code="conflict", option="scale")
    candidates = [
        Candidate(
            learner, values, learners.make_learner("fit", learner, each[learner] | values, **common)
        )
        for learner, combinations in grids_of(grid, each, usual=True).items()
        for values in combinations
    ]
    folds.check(source.grouped)
    with output.watching(source):
        source, batch = kept(source)
        rows = labeled_rows(source, batch, classify=[*each] != ["linear"])
        ranked = compare(candidates, rows, folds, metric, one_se)
        best, _ = ranked[0]
        if refit:
            with interrupts_allowed():
                best.estimator.fit(source)
    baseline = None
    if metric == "accuracy":
        shares: Any = np.bincount(rows.codes, rows.batch.weights)  # type: ignore[arg-type]
        baseline = float(shares.max() / shares.sum())
    return Tuned(
        _model=best.estimator, _source=source, learner=best.learner, best=best.values,
        metric=metric, baseline=baseline, rows=rows.size, folds=folds.cv, repeats=folds.repeats,
        by_time=folds.by_time, one_se=one_se,
        models=[found for _, found in ranked],
    )  # fmt: skip


def _check(names: list[str], metric: str, given: dict[str, Any]) -> None:
    known = NUMBER_METRICS if names == ["linear"] else CLASS_METRICS
    if "linear" in names and len(names) > 1:
        raise ParameterError("linear predicts numbers: tune it alone.", option="learner")
    if metric not in known:
        raise ParameterError(f"metric must be one of {', '.join(known)}.", option="metric")
    for name in given:
        if not any(name in parameters_of(ESTIMATORS[learner]) for learner in names):
            raise learners.not_of(" or ".join(names), name)
    if "validation_fraction" in given:
        told = "validation_fraction has no effect with cv: leave it out."
        raise ParameterError(told, option="validation_fraction")
