"""The command ``tune``: compare models on held-out rows or in folds, and train the best."""

import shlex
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from linsep import model_files
from linsep._system.interrupts import interrupts_allowed
from linsep.catalog import ESTIMATORS, LEARNERS, LINEAR, REGRESSIONS, USUAL_LEARNER, is_scaled
from linsep.cli import learner_options as learners, options, output, report
from linsep.cli.errors import in_options, noting_warnings
from linsep.cli.options import LearnerNames, Option, as_typed, command, typed
from linsep.cli.predict import score_source
from linsep.cli.reading import Reading
from linsep.cli.report import folds_text, with_error
from linsep.estimators.labels import plain_labels
from linsep.fitting import as_pipeline, chosen_learner, with_intercept
from linsep.parameters import parameters_of
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS, gaps_of
from linsep.scoring.metrics import METRICS
from linsep.sources.base import Source
from linsep.tuning import Candidate, Comparison, SideBySide, combinations, compare
from linsep.words import counted, percent

#: most lines of the table; --json has all
MOST_LINES = 20
#: options of tune that a fit of the chosen model does not take, or takes from the model
NOT_OF_FIT = {
    "learner", "grid", "cv", "repeats", "by_time", "metric", "one_se", "force", "as_json",
    "class_weight", "random_state", "reference", "group", "scale", "reference_level",
    "model", "test",
}  # fmt: skip


@command(
    options.DATA, options.READING,
    Option(
        "--grid", "PARAMETER=VALUE,...",
        "Values of a parameter to compare; repeatable. With several learners, "
        "LEARNER.PARAMETER=... applies to one of them.",
        section="Learner", many=True,
    ),
    options.MODEL_OUT, options.FORCE, options.TEST,
    Option(
        "--learner", typed(LearnerNames(ESTIMATORS, several=True), "NAME,..."),
        f"Learning algorithm: {', '.join(ESTIMATORS)}; with --cv, several to compare, the "
        "simplest first.  [default: as for `linsep fit`]",
        section="Learner", many=True,
    ),
    options.AS_JSON, options.RANDOM_STATE, options.CLASS_WEIGHT, options.REFERENCE,
    options.COLUMNS, options.FOLDS,
    Option(
        "--metric", "NAME",
        "Metric to compare models by, such as balanced_accuracy, log_loss or roc_auc (with "
        "--cv).  [default: accuracy, or r2 for regressions]",
        section="Validation", needs=["cv"],
    ),
    Option(
        "--one-se", None,
        "Choose the simplest model within one standard error of the best (with --cv).",
        section="Validation", needs=["cv"],
    ),
    cls=learners.LearningCommand,
)  # fmt: skip
def tune(**given: Any) -> None:
    """Compare models on held-out rows of DATA, and train the best.

    Example: linsep tune train.csv --target species --learner pa --grid C=0.01,0.1,1 --model m
    """
    Tuning(**given).run()


class Tuning(SimpleNamespace):
    """A run of ``tune``; the options of the command are attributes, by their names."""

    def run(self) -> None:
        self.started = perf_counter()
        self.formula = self.reading["formula"]
        self.reader = Reading(self.reading, self.columns["group"])
        names = [name for given in self.learner or () for name in given.split(",")]
        self.learners = list(dict.fromkeys(names))
        if self.folds is None:
            self._on_one_hold_out()
        else:
            self._in_folds()

    def _opened(self, learner: str, parameters: dict[str, Any]) -> Source:
        """Open the data as a learner reads them; choose the learner if none is named."""
        source = self.reader.source(self.data, learner, self.columns, parameters)
        if not self.learners:
            given = parameters | learners.in_grid(self.grid)
            self.learners = [chosen_learner(source, given).learner]
        output.check_outputs(self.force, source.paths, self.model)
        self.reader.check(source, test=self.test)
        return source

    def _common(self, source: Source) -> dict[str, Any]:
        return learners.common_parameters(
            source, self.class_weight, self.reference, self.random_state
        )

    def _print(self, found: dict[str, Any], model: Any, source: Source) -> None:
        tested = None
        if self.model is not None:
            model_files.save(as_pipeline(model, source), self.model, force=self.force)
        if self.test:
            tested = score_source(model, self.reader.like(model, self.test, self.reader.group))
        found |= {
            **gaps_of(source), "test": tested, "seconds": round(perf_counter() - self.started, 4),
            "model": None if self.model is None else str(self.model),
        }  # fmt: skip
        if self.as_json:
            output.print_json(found)
            return
        best, compared, last, heading, lines = (_raced if self.folds is None else _rated)(found)
        output.print_pairs([
            *best,
            *report.shown(("test", tested and report.how_good(tested))),
            *(report.metric_pairs(found) if "accuracy" in (tested or {}) else []),
            compared,
            *report.gap_pairs(found, source.recipe()),
            ("time", f"total {found['seconds']:.2f} s"),
            ("model", found["model"] or "not saved; --model FILE trains the best on all rows"),
            last,
        ])  # fmt: skip
        print()
        output.print_table(heading, lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            print(f"... and {len(lines) - MOST_LINES:,} worse models; --json has all")

    def _on_one_hold_out(self) -> None:
        first = self.learners[0] if self.learners else USUAL_LEARNER
        if len(self.learners) > 1 or not {*self.learners} <= LINEAR.keys() or not self.grid:
            raise click.BadParameter(
                f"--cv N compares learners; without it, --learner is one of {', '.join(LINEAR)}, "
                f"and --grid has values to compare, such as {learners.grid_example(first)}."
            )
        parameters = with_intercept(first, self.formula, self.parameters)
        if self.learners:  # raises errors before the data are opened
            learners.grids_of(self.grid, [first], parameters)
        source = self._opened(first, parameters)
        (learner,) = self.learners
        common = self._common(source)
        grid = learners.grids_of(self.grid, [learner], parameters)[learner]
        models = []
        for values in combinations(grid):
            own = parameters | values | {"early_stopping": True}
            models.append((values, learners.make_learner("tune", learner, own, **common)))
        race = SideBySide(models, source)

        def learn_best(source: Source) -> Any:
            """Train the best model on all rows, as ``linsep fit`` does, if requested."""
            given = parameters | {"validation_fraction": None} | race.best.values
            race.final = learners.make_learner("fit", learner, given, **common)
            with interrupts_allowed():
                return race.final.fit(source) if self.model is not None or self.test else None

        with output.watching(source, race):
            best = race.run(learn_best)
        self._print(self._result(race, learner, source), best, race.source)

    def _result(self, race: SideBySide, learner: str, source: Source) -> dict[str, Any]:
        named = [*_named_for_fit(learner, source), learners.options_of_model(race.final)]
        if self.columns["group"] is not None:  # which `fit` takes with early stopping only
            named.append(in_options("exclude", [self.columns["group"]]))
        models = []
        for model in race.ranked:
            behind, error = model.behind or model.missed.behind(race.best.missed)
            models.append({
                "parameters": model.values, "held_out_accuracy": model.missed.accuracy,
                "standard_error": model.missed.error, "behind": behind,
                "behind_standard_error": error, "passes": model.passes,
                "stop_reason": "dropped" if model.dropped else model.stop_reason,
            })  # fmt: skip
        return {
            "learner": type(race.final).__name__,
            "rows": race.n_rows,
            "classes": plain_labels(race.fits[0].models[0].estimator.classes_),
            "held_out_rows": race.best.missed.wrong.size,
            "baseline": race.baseline,
            "best": race.best.values,
            "options": " ".join(filter(None, named)),
            "models": models,
            "passes": sum(fit.course.number for fit in race.fits),
            "cache": None if race.source.kept is None else str(race.source.kept),
        }

    def _in_folds(self) -> None:
        names = self.learners or [USUAL_LEARNER]
        self._check(names)
        given = self._given(names[0]) if len(names) == 1 else self.parameters
        first = names[0] if len(names) == 1 else USUAL_LEARNER
        source = self._opened(first, given)
        positive = [n for n in names if n in LEARNERS and LEARNERS[n].positive_only]
        if len(names) > 1 and positive and source.options().get("scale", "none") != "none":
            raise click.BadParameter(
                f"--learner {positive[0]} does not accept negative values, which scaled columns "
                "have: add --scale none, or tune it alone."
            )
        files, candidates = source, self._candidates(self._common(source))
        self.folds.check(source.grouped)
        numbers = self.learners == ["linear"]
        metric = self.metric or ("r2" if numbers else "accuracy")
        with output.watching(source), noting_warnings(once=True):
            from linsep.cross_validation import kept, labeled_rows

            source, batch = kept(source)
            rows = labeled_rows(source, batch, classify=not numbers)
            comparison = compare(candidates, rows, self.folds, metric)
            first = comparison.simplest if self.one_se else comparison.ranked[0]
            if self.model is not None or self.test:
                with interrupts_allowed():
                    first.candidate.estimator.fit(source)
        summary = self._compared(comparison, first, rows) | {
            "command": self._fit_command(first.candidate, source, files)
        }
        self._print(summary, first.candidate.estimator, source)

    def _check(self, names: list[str]) -> None:
        known = NUMBER_METRICS if names == ["linear"] else CLASS_METRICS
        if "linear" in names and len(names) > 1:
            raise click.BadParameter(
                "--learner linear predicts numbers and the others predict classes: tune it alone."
            )
        if self.metric is not None and self.metric not in known:
            raise click.BadParameter(f"--metric must be one of {', '.join(known)}.")
        for name, value in self.parameters.items():
            if value is not None and not any(name in parameters_of(ESTIMATORS[x]) for x in names):
                raise learners.not_of(" or ".join(names), name)
        if self.parameters.get("validation_fraction") is not None:
            raise click.BadParameter("--validation-fraction has no effect with --cv: leave it out.")

    def _given(self, learner: str) -> dict[str, Any]:
        own = parameters_of(ESTIMATORS[learner])
        given = {n: v for n, v in self.parameters.items() if n in own and v is not None}
        return with_intercept(learner, self.formula, given)

    def _candidates(self, common: dict[str, Any]) -> list[Candidate]:
        grids, found = learners.grids_of(self.grid, self.learners, self.parameters), []
        for learner in self.learners:
            given = self._given(learner)
            grid = grids[learner] or learners.usual_grid(learner, self.parameters)
            for values in combinations(grid):
                estimator = learners.make_learner("fit", learner, given | values, **common)
                found.append(Candidate(learner, values, estimator))
        return found

    def _fit_command(self, chosen: Candidate, source: Source, files: Source) -> str:
        """Return the command that trains the chosen model: with the data options that were typed,
        and the model's options. ``files`` are the source as it was opened.
        """
        known = {str(one.name) for one in click.get_current_context().command.params}
        words = ["linsep fit", *map(shlex.quote, self.data), *as_typed(known - NOT_OF_FIT)]
        if self.columns["group"] is not None:  # which a fit uses for held-out rows only
            words.append(in_options("exclude", [self.columns["group"]]))
        # the options that make the same features as for all learners
        given, own = source.options(), parameters_of(ESTIMATORS[chosen.learner])
        scale = given.get("scale")
        if scale is not None and (scale == "standard") != is_scaled(chosen.learner):
            words.append(f"--scale {scale}")
        coded = source.recipe().get("text") and not given.get("reference_level")
        if coded and chosen.learner in REGRESSIONS and "fit_intercept" in own:
            words.append("--reference-level none")
        words += _named_for_fit(chosen.learner, files)
        return " ".join([*words, learners.options_of_model(chosen.estimator)]).strip()

    def _compared(self, comparison: Comparison, first: Any, rows: Any) -> dict[str, Any]:
        baseline = None
        if comparison.metric == "accuracy":
            total = rows.size if rows.batch.weights is None else rows.batch.weights.sum()
            baseline = float(np.bincount(rows.codes, rows.batch.weights).max() / float(total))
        return {
            "learner": first.candidate.learner,
            "best": first.candidate.values,
            "metric": comparison.metric,
            "baseline": baseline,
            "rows": rows.size,
            "folds": comparison.folds.cv,
            "repeats": comparison.folds.repeats,
            "by_time": comparison.folds.by_time,
            "one_se": self.one_se,
            "models": [
                {
                    "learner": rated.candidate.learner, "parameters": rated.candidate.values,
                    "mean": rated.mean, "standard_error": rated.error, "behind": rated.behind,
                    "behind_standard_error": rated.behind_error, "folds": rated.values.tolist(),
                }
                for rated in [first, *(one for one in comparison.ranked if one is not first)]
            ],
        }  # fmt: skip


def _named_for_fit(learner: str, source: Source) -> list[str]:
    """Return the option of ``linsep fit`` that names a learner, unless it is the default for these
    data.
    """
    usual = learner == USUAL_LEARNER and chosen_learner(source).learner == USUAL_LEARNER
    return [] if usual else [f"--learner {learner}"]


def _raced(found: dict[str, Any]) -> tuple[Any, ...]:
    """Return what is printed of a comparison on held-out rows: pairs, and a table."""
    models, rows = found["models"], found["held_out_rows"]
    dropped = sum(model["stop_reason"] == "dropped" for model in models)
    spared = f", {dropped:,} dropped early" * bool(dropped)
    passes = f"{found['passes']:,} passes over {counted(found['rows'] - rows, 'row')}"
    lines = [
        [*map(_value_text, model["parameters"].values()),
         with_error("accuracy", model["held_out_accuracy"], model["standard_error"]),
         _behind("accuracy", model), str(model["passes"]), str(model["stop_reason"])]
        for model in models
    ]  # fmt: skip
    right = f"{lines[0][len(found['best'])]}% of {counted(rows, 'held-out row')} right"
    best = [
        ("best", _values_text(found["best"], ", ")),
        ("held out", f"{right}; baseline {percent(found['baseline'])}"),
    ]
    compared = f"{counted(len(models), 'model')} of {found['learner']}{spared}, {passes}"
    typed = found["options"] or "all at their defaults"
    last = ("options", f"{typed}; `linsep fit` trains the same model with these")
    heading = [*found["best"], "held out, %", "behind", "passes", "stopped"]
    return best, ("learned", compared), last, heading, lines


def _rated(found: dict[str, Any]) -> tuple[Any, ...]:
    """Return what is printed of a comparison in folds: pairs, and a table."""
    models, metric = found["models"], METRICS[found["metric"]]
    lines = [
        [model["learner"], _values_text(model["parameters"], " ") or "-",
         with_error(found["metric"], model["mean"], model["standard_error"]),
         _behind(found["metric"], model)]
        for model in models
    ]  # fmt: skip
    names = [" ".join(line[:2]).removesuffix(" -") for line in lines]
    chosen, unit = names[0], "%" * metric.is_share
    if found["one_se"] and models[0]["behind"] > 0:
        best_of_all = min(range(len(models)), key=lambda k: models[k]["behind"])
        chosen += f"; the simplest within one standard error of {names[best_of_all]}"
    baseline = f"; baseline {percent(found['baseline'])}" if found["baseline"] is not None else ""
    best = [
        ("best", chosen),
        (metric.title, f"{lines[0][2]}{unit} in {folds_text(found)}{baseline}"),
    ]
    of = counted(len({model["learner"] for model in models}), "learner")
    compared = f"{counted(len(models), 'model')} of {of} on {counted(found['rows'], 'row')}"
    heading = ["learner", "parameters", metric.title + ", %" * bool(unit), "behind"]
    return best, ("compared", compared), ("command", found["command"]), heading, lines


def _values_text(values: dict[str, Any], between: str) -> str:
    return between.join(f"{name}={_value_text(value)}" for name, value in values.items())


def _value_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _behind(metric: str, model: dict[str, Any]) -> str:
    behind, error = model["behind"], model["behind_standard_error"]
    return with_error(metric, behind, error) if behind or error else "-"
