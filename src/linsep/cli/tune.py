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
from linsep.cli.options import Option, as_typed, choice, command
from linsep.cli.predict import score_source
from linsep.cli.reading import Reading
from linsep.cli.report import folds_text, with_error
from linsep.fitting import as_pipeline, chosen_learner, with_intercept
from linsep.parameters import parameters_of
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS, gaps_of
from linsep.scoring.metrics import METRICS
from linsep.sources.base import Source
from linsep.tuning import Candidate, SideBySide, combinations, compare
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
        "Values to compare, or LEARNER.PARAMETER=... of one learner; repeatable.",
        section="Learner", many=True,
    ),
    options.MODEL_OUT, options.FORCE, options.TEST,
    Option(
        "--learner", choice(ESTIMATORS, "NAME,...", several=True),
        f"Learning algorithm: {', '.join(ESTIMATORS)}; with --cv, several to compare, the "
        "simplest first.  [default: as for `linsep fit`]",
        section="Learner", many=True,
    ),
    options.AS_JSON, options.RANDOM_STATE, options.CLASS_WEIGHT, options.REFERENCE,
    options.COLUMNS, options.FOLDS,
    Option(
        "--metric", "NAME",
        "Metric to compare by, such as log_loss.  [default: accuracy, or r2 for regressions]",
        section="Validation", needs=["cv"],
    ),
    Option(
        "--one-se", None, "Choose the simplest model within one standard error of the best.",
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
            self.learners = [chosen_learner(source, given)[0]]
        output.check_outputs(self.force, source.paths, self.model)
        self.reader.check(source, test=self.test)
        return source

    def _common(self, source: Source) -> dict[str, Any]:
        return learners.common_parameters(
            source, self.class_weight, self.reference, self.random_state
        )

    def _finish(self, found: dict[str, Any], model: Any, source: Source) -> None:
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
        else:
            _print(found, source.recipe())

    def _on_one_hold_out(self) -> None:
        first = self.learners[0] if self.learners else USUAL_LEARNER
        if len(self.learners) > 1 or not {*self.learners} <= LINEAR.keys() or not self.grid:
            usual = f"{', '.join(LINEAR)}, and --grid, such as {learners.grid_example(first)}"
            raise click.BadParameter(f"without --cv, name one --learner of {usual}.")
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
        ranked = []
        for model in race.ranked:
            behind, error = model.behind or model.missed.behind(race.best.missed)
            ranked.append({
                "learner": learner, "parameters": model.values, "mean": model.missed.accuracy,
                "standard_error": model.missed.error, "behind": behind,
                "behind_standard_error": error, "passes": model.passes,
                "stop_reason": "dropped" if model.dropped else model.stop_reason,
            })  # fmt: skip
        found = {
            "learner": learner,
            "best": race.best.values,
            "metric": "accuracy",
            "baseline": race.baseline,
            "rows": race.n_rows,
            "held_out_rows": race.best.missed.wrong.size,
            "passes": sum(fit.course.number for fit in race.fits),
            "models": ranked,
            "cache": None if race.source.kept is None else str(race.source.kept),
            "command": self._fit_command(learner, race.final, source, source),
        }
        self._finish(found, best, race.source)

    def _in_folds(self) -> None:
        names = self.learners or [USUAL_LEARNER]
        self._check(names)
        given = self._given(names[0]) if len(names) == 1 else self.parameters
        first = names[0] if len(names) == 1 else USUAL_LEARNER
        source = self._opened(first, given)
        positive = [n for n in names if n in LEARNERS and LEARNERS[n].positive_only]
        if len(names) > 1 and positive and source.options().get("scale", "none") != "none":
            told = "does not accept scaled columns: add --scale none, or tune it alone."
            raise click.BadParameter(f"--learner {positive[0]} {told}")
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
        baseline, best = None, first.candidate
        if metric == "accuracy":
            shares: Any = np.bincount(rows.codes, rows.batch.weights)  # type: ignore[arg-type]
            baseline = float(shares.max() / shares.sum())
        found = {
            "learner": best.learner,
            "best": best.values,
            "metric": metric,
            "baseline": baseline,
            "rows": rows.size,
            "folds": self.folds.cv,
            "repeats": self.folds.repeats,
            "by_time": self.folds.by_time,
            "one_se": self.one_se,
            "models": [
                {
                    "learner": rated.candidate.learner, "parameters": rated.candidate.values,
                    "mean": rated.mean, "standard_error": rated.error, "behind": rated.behind,
                    "behind_standard_error": rated.behind_error, "folds": rated.values.tolist(),
                }
                for rated in [first, *(one for one in comparison.ranked if one is not first)]
            ],
            "command": self._fit_command(best.learner, best.estimator, source, files),
        }  # fmt: skip
        self._finish(found, best.estimator, source)

    def _check(self, names: list[str]) -> None:
        known = NUMBER_METRICS if names == ["linear"] else CLASS_METRICS
        if "linear" in names and len(names) > 1:
            raise click.BadParameter("--learner linear predicts numbers: tune it alone.")
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

    def _fit_command(self, learner: str, estimator: Any, source: Source, files: Source) -> str:
        """Return the command that trains a model on ``files``, the source as it was opened."""
        known = {str(one.name) for one in click.get_current_context().command.params}
        words = ["linsep fit", *map(shlex.quote, self.data), *as_typed(known - NOT_OF_FIT)]
        if self.columns["group"] is not None:  # which a fit uses for held-out rows only
            words.append(in_options("exclude", [self.columns["group"]]))
        # the options that make the same features as for all learners
        given, own = source.options(), parameters_of(ESTIMATORS[learner])
        scale = given.get("scale")
        if scale is not None and (scale == "standard") != is_scaled(learner):
            words.append(f"--scale {scale}")
        coded = source.recipe().get("text") and not given.get("reference_level")
        if coded and learner in REGRESSIONS and "fit_intercept" in own:
            words.append("--reference-level none")
        if learner != USUAL_LEARNER or chosen_learner(files)[0] != USUAL_LEARNER:
            words.append(f"--learner {learner}")
        return " ".join([*words, learners.options_of_model(estimator)]).strip()


def _print(found: dict[str, Any], recipe: dict[str, Any]) -> None:
    models, metric, tested = found["models"], METRICS[found["metric"]], found["test"]
    more = [name for name in ("passes", "stop_reason") if name in models[0]]
    lines = [
        [one["learner"], _values_text(one["parameters"]) or "-",
         with_error(found["metric"], one["mean"], one["standard_error"]),
         _behind(found["metric"], one), *(str(one[name]) for name in more)]
        for one in models
    ]  # fmt: skip
    names = [" ".join(line[:2]).removesuffix(" -") for line in lines]
    chosen, unit = names[0], "%" * metric.is_share
    if found.get("one_se") and models[0]["behind"] > 0:
        best_of_all = min(range(len(models)), key=lambda k: models[k]["behind"])
        chosen += f"; the simplest within one standard error of {names[best_of_all]}"
    rows = counted(found.get("held_out_rows", 0), "held-out row")
    where = f"in {folds_text(found)}" if "folds" in found else f"of {rows}"
    baseline = f"; baseline {percent(found['baseline'])}" if found["baseline"] is not None else ""
    many = len({one["learner"] for one in models})
    of = f"{counted(len(models), 'model')} of {counted(many, 'learner')}"
    dropped = sum(one.get("stop_reason") == "dropped" for one in models)
    spared = f", {dropped:,} dropped early" * bool(dropped)
    output.print_pairs([
        ("best", chosen),
        (metric.title, f"{lines[0][2]}{unit} {where}{baseline}"),
        ("test", tested and report.how_good(tested)),
        *(report.metric_pairs(tested) if "accuracy" in (tested or {}) else []),
        ("compared", f"{of} on {counted(found['rows'], 'row')}{spared}"),
        *report.gap_pairs(found, recipe),
        ("time", f"total {found['seconds']:.2f} s"),
        ("model", found["model"] or "not saved; --model FILE trains the best on all rows"),
        ("command", found["command"]),
    ])  # fmt: skip
    print()
    heading = ["learner", "parameters", metric.title + ", %" * bool(unit), "behind", *more]
    table = [line[many == 1 :] for line in [[x.replace("_", " ") for x in heading], *lines]]
    output.print_table(table[0], table[1:], most=MOST_LINES)


def _values_text(values: dict[str, Any]) -> str:
    texts = {n: f"{x:g}" if isinstance(x, float) else str(x).lower() for n, x in values.items()}
    return " ".join(f"{name}={text}" for name, text in texts.items())


def _behind(metric: str, model: dict[str, Any]) -> str:
    behind, error = model["behind"], model["behind_standard_error"]
    return with_error(metric, behind, error) if behind or error else "-"
