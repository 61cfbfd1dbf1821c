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
from linsep.cli import learner_options as learners, options, report
from linsep.cli.errors import in_options, told_once
from linsep.cli.options import LearnerNames, Option, as_typed, command, typed
from linsep.cli.output import (
    check_all_free,
    never_overwrite,
    print_json,
    print_pairs,
    print_table,
    watching,
)
from linsep.cli.predict import score_source
from linsep.cli.reading import Reading
from linsep.cli.report import folds_text, with_error
from linsep.estimators.labels import plain_labels
from linsep.fitting import chosen_learner, with_intercept
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
GRID = Option(
    "--grid", "PARAMETER=VALUE,...",
    "Values of a parameter to compare; repeatable. With several learners, "
    "LEARNER.PARAMETER=... applies to one of them.",
    section="Learner", many=True,
)  # fmt: skip
LEARNER = Option(
    "--learner", typed(LearnerNames(ESTIMATORS, several=True), "NAME,..."),
    f"Learning algorithm: {', '.join(ESTIMATORS)}; with --cv, several to compare, the "
    "simplest first.  [default: as for `linsep fit`]",
    section="Learner", many=True,
)  # fmt: skip
METRIC = Option(
    "--metric", "NAME",
    "Metric to compare models by, such as balanced_accuracy, log_loss or roc_auc (with "
    "--cv).  [default: accuracy, or r2 for regressions]",
    section="Validation", needs=["cv"],
)  # fmt: skip
ONE_SE = Option(
    "--one-se", None,
    "Choose the simplest model within one standard error of the best (with --cv).",
    section="Validation", needs=["cv"],
)  # fmt: skip


@command(
    options.DATA, options.READING, GRID, options.MODEL_OUT, options.FORCE, options.TEST, LEARNER,
    options.AS_JSON, options.RANDOM_STATE, options.CLASS_WEIGHT, options.REFERENCE,
    options.COLUMNS, options.FOLDS, METRIC, ONE_SE, cls=learners.LearningCommand,
)  # fmt: skip
def tune(**given: Any) -> None:
    """Compare models on held-out rows of DATA, and train the best.

    Example: linsep tune train.csv --target species --learner pa --grid C=0.01,0.1,1 --model m
    """
    Tuning(**given).run()


class Tuning(SimpleNamespace):
    """A run of ``tune``; the options of the command are attributes, by their names."""

    def run(self) -> None:
        """Compare the models, train the best on all rows if requested, and print."""
        self.started = perf_counter()
        check_all_free(self.force, self.model)
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
        never_overwrite(source.paths, self.model)
        self.reader.check(source, test=self.test)
        return source

    def _common(self, source: Source) -> dict[str, Any]:
        return learners.common_parameters(
            source, self.class_weight, self.reference, self.random_state
        )

    def _print(self, summary: dict[str, Any], model: Any, source: Source, show: Any) -> None:
        """Save and test the model that was trained, if requested, and print everything."""
        tested = None
        if self.model is not None:
            model_files.save(model, self.model, force=self.force)
        if self.test:
            tested = score_source(model, self.reader.like(model, self.test, self.reader.group))
        summary |= {
            **gaps_of(source), "test": tested, "seconds": round(perf_counter() - self.started, 4),
            "model": None if self.model is None else str(self.model),
        }  # fmt: skip
        if self.as_json:
            print_json(summary)
            return
        best, compared, last, heading, lines = show(summary)
        pairs = best
        if tested is not None:
            pairs.append(("test", report.how_good(tested)))
            pairs += report.metric_pairs(summary) if "accuracy" in tested else []
        print_pairs(
            [
                *pairs,
                compared,
                *report.gap_pairs(summary, source.recipe()),
                ("time", f"total {summary['seconds']:.2f} s"),
                (
                    "model",
                    summary["model"] or "not saved; --model FILE trains the best on all rows",
                ),
                last,
            ]
        )
        print()
        print_table(heading, lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            print(f"... and {len(lines) - MOST_LINES:,} worse models; --json has all")

    def _on_one_hold_out(self) -> None:
        if len(self.learners) > 1 or not {*self.learners} <= LINEAR.keys():
            raise click.BadParameter(
                f"--learner must be one of {', '.join(LINEAR)} without --cv N, not "
                f"{', '.join(self.learners)}."
            )
        first = self.learners[0] if self.learners else USUAL_LEARNER
        if not self.grid:
            example = learners.grid_example(first)
            raise click.BadParameter(
                f"give values to compare with --grid, such as --grid {example}."
            )
        parameters = with_intercept(first, self.formula, self.parameters)
        if self.learners:  # raises errors before the data are opened
            learners.grids_of(self.grid, [first], parameters)
        source = self._opened(first, parameters)
        (learner,) = self.learners
        common = self._common(source)
        grid = learners.grids_of(self.grid, [learner], parameters)[learner]
        models = [
            (values, learners.make_learner(
                "tune", learner, parameters | values | {"early_stopping": True}, **common
            ))
            for values in combinations(grid)
        ]  # fmt: skip
        race = SideBySide(models, source)

        def learn_best(source: Source) -> Any:
            """Train the best model on all rows, as ``linsep fit`` does, if requested."""
            given = parameters | {"validation_fraction": None} | race.best.values
            race.final = learners.make_learner("fit", learner, given, **common)
            with interrupts_allowed():
                return race.final.fit(source) if self.model is not None or self.test else None

        with watching(source, race):
            best = race.run(learn_best)
        self._print(self._raced(race, learner, source), best, race.source, _raced_text)

    def _raced(self, race: SideBySide, learner: str, source: Source) -> dict[str, Any]:
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
        with watching(source), told_once():
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
        self._print(summary, first.candidate.estimator, source, _compared_text)

    def _check(self, names: list[str]) -> None:
        if "linear" in names and len(names) > 1:
            raise click.BadParameter(
                "--learner linear predicts numbers and the other learners predict classes: tune "
                "it alone."
            )
        known = NUMBER_METRICS if names == ["linear"] else CLASS_METRICS
        if self.metric is not None and self.metric not in known:
            raise click.BadParameter(
                f"--metric must be one of {', '.join(known)}, not {self.metric!r}."
            )
        for name, value in self.parameters.items():
            having = [one for one in names if name in parameters_of(ESTIMATORS[one])]
            if value is not None and not having:
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
        """Return what is printed of a comparison in folds, the chosen model first."""
        baseline = None
        if comparison.metric == "accuracy":
            total = rows.size if rows.weights is None else rows.weights.sum()
            baseline = float(np.bincount(rows.codes, rows.weights).max() / float(total))
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


def _raced_text(found: dict[str, Any]) -> tuple[Any, ...]:
    """Return what is printed of a comparison on held-out rows: lines, and a table."""
    models, rows = found["models"], counted(found["held_out_rows"], "held-out row")
    dropped = sum(model["stop_reason"] == "dropped" for model in models)
    spared = f", {dropped:,} dropped early" if dropped else ""
    right = [
        with_error("accuracy", one["held_out_accuracy"], one["standard_error"]) for one in models
    ]
    best = [
        ("best", ", ".join(f"{name}={_value_text(v)}" for name, v in found["best"].items())),
        ("held out", f"{right[0]}% of {rows} right; baseline {percent(found['baseline'])}"),
    ]
    compared = (
        "learned",
        f"{counted(len(models), 'model')} of {found['learner']}{spared}, "
        f"{found['passes']:,} passes over {counted(found['rows'] - found['held_out_rows'], 'row')}",
    )
    typed = found["options"] or "all at their defaults"
    last = ("options", f"{typed}; `linsep fit` trains the same model with these")
    lines = [
        [*(_value_text(model["parameters"][name]) for name in found["best"]), cell,
         _behind("accuracy", model), str(model["passes"]), str(model["stop_reason"])]
        for model, cell in zip(models, right, strict=True)
    ]  # fmt: skip
    return (
        best,
        compared,
        last,
        [*found["best"], "held out, %", "behind", "passes", "stopped"],
        lines,
    )


def _compared_text(found: dict[str, Any]) -> tuple[Any, ...]:
    """Return what is printed of a comparison in folds: lines, and a table."""
    models, metric = found["models"], METRICS[found["metric"]]
    values = [
        " ".join(f"{name}={_value_text(v)}" for name, v in model["parameters"].items())
        for model in models
    ]
    names = [f"{m['learner']} {text}".strip() for m, text in zip(models, values, strict=True)]
    cells = [with_error(found["metric"], one["mean"], one["standard_error"]) for one in models]
    baseline = f"; baseline {percent(found['baseline'])}" if found["baseline"] is not None else ""
    chosen = names[0]
    if found["one_se"] and models[0]["behind"] > 0:
        best_of_all = min(range(len(models)), key=lambda k: models[k]["behind"])
        chosen += f"; the simplest within one standard error of {names[best_of_all]}"
    best = [
        ("best", chosen),
        (metric.title, f"{cells[0]}{'%' * metric.is_share} in {folds_text(found)}{baseline}"),
    ]
    n_learners = len({model["learner"] for model in models})
    compared = (
        "compared",
        f"{counted(len(models), 'model')} of {counted(n_learners, 'learner')} on "
        f"{counted(found['rows'], 'row')}",
    )
    lines = [
        [model["learner"], text or "-", cell, _behind(found["metric"], model)]
        for model, text, cell in zip(models, values, cells, strict=True)
    ]
    heading = ["learner", "parameters", metric.title + ", %" * metric.is_share, "behind"]
    return best, compared, ("command", found["command"]), heading, lines


def _value_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _behind(metric: str, model: dict[str, Any]) -> str:
    if not model["behind"] and not model["behind_standard_error"]:
        return "-"
    return with_error(metric, model["behind"], model["behind_standard_error"])
