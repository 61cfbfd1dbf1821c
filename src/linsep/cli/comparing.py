"""``tune --cv``: compare learners and parameters in folds, then train the chosen model."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from linsep import model_files
from linsep._system.interrupts import interrupts_allowed
from linsep.catalog import ESTIMATORS, LEARNERS, REGRESSIONS, is_scaled
from linsep.cli import learner_options as learners, report
from linsep.cli.errors import flag_of, in_options, told_once
from linsep.cli.options import LearnerName
from linsep.cli.output import print_json, print_pairs, print_table, watching
from linsep.cli.predict import score_source
from linsep.cli.reading import Reading
from linsep.cli.validating import folds_text, metric_named, with_error
from linsep.fitting import USUAL_LEARNER, chosen_learner, with_intercept
from linsep.parameters import parameters_of
from linsep.scoring import CLASS_METRICS, NUMBER_METRICS, gaps_of
from linsep.sources.base import Source
from linsep.words import counted, percent

if TYPE_CHECKING:
    from linsep.cross_validation import Folds
    from linsep.tuning import Candidate, Comparison, Rated

#: most lines of the table; --json has all
MOST_LINES = 20
#: options of tune that a fit of the chosen model does not take, or takes from the model
NOT_OF_FIT = (
    "learner", "grid", "cv", "repeats", "by_time", "metric", "one_se", "force", "as_json",
    "class_weight", "random_state", "reference", "group", "scale", "reference_level",
)  # fmt: skip


class LearnerNames(LearnerName):
    """Names of learners with commas between them."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the names unchanged; BadParameter for an unknown name."""
        for name in value.split(","):
            super().convert(name, param, ctx)
        return value


class Asked(NamedTuple):
    """What is compared: learners by name, values of their parameters, and how."""

    learners: list[str]
    grid: list[str] | None
    parameters: dict[str, Any]
    folds: "Folds"
    metric: str | None
    one_se: bool

    def check(self) -> None:
        """Raise BadParameter for options that cannot be combined."""
        if "linear" in self.learners and len(self.learners) > 1:
            raise click.BadParameter(
                "--learner linear predicts numbers and the other learners predict classes: tune "
                "it alone."
            )
        known = NUMBER_METRICS if self.learners == ["linear"] else CLASS_METRICS
        if self.metric is not None and self.metric not in known:
            raise click.BadParameter(
                f"--metric must be one of {', '.join(known)}, not {self.metric!r}."
            )
        given = {name for name, value in self.parameters.items() if value is not None}
        for name in given:
            if not any(name in parameters_of(ESTIMATORS[one]) for one in self.learners):
                raise click.BadParameter(learners.not_of(" or ".join(self.learners), name))
        if "validation_fraction" in given:
            raise click.BadParameter("--validation-fraction has no effect with --cv: leave it out.")

    @property
    def compared(self) -> str:
        """The metric."""
        return self.metric or ("r2" if self.learners == ["linear"] else "accuracy")

    def parameters_of(self, learner: str, formula: str | None) -> dict[str, Any]:
        """Return the parameters of a learner that are given as options."""
        own = parameters_of(ESTIMATORS[learner])
        given = {n: v for n, v in self.parameters.items() if n in own and v is not None}
        return with_intercept(learner, formula, given)


def opened(asked: Asked, reading: Reading, data: list[str], columns: dict[str, Any]) -> Source:
    """Open the data for all learners: as one learner alone reads them, or scaled for several."""
    formula = reading.given["formula"]
    if len(asked.learners) == 1:
        (learner,) = asked.learners
        return reading.source(data, learner, columns, asked.parameters_of(learner, formula))
    source = reading.source(data, USUAL_LEARNER, columns, asked.parameters)
    positive = [n for n in asked.learners if n in LEARNERS and LEARNERS[n].positive_only]
    if positive and source.options().get("scale", "none") != "none":
        raise click.BadParameter(
            f"--learner {positive[0]} does not accept negative values, which scaled columns "
            "have: add --scale none, or tune it alone."
        )
    return source


def candidates(asked: Asked, formula: str | None, common: dict[str, Any]) -> list["Candidate"]:
    """Return the models to compare, by learner in the order given."""
    from linsep.tuning import Candidate, combinations

    grids, found = learners.grids_of(asked.grid, asked.learners, asked.parameters), []
    for learner in asked.learners:
        grid = grids[learner] or learners.usual_grid(learner, asked.parameters)
        given = asked.parameters_of(learner, formula)
        for chosen in combinations(grid):
            estimator = learners.make_learner("fit", learner, given | chosen, **common)
            found.append(Candidate(learner, chosen, estimator))
    return found


def compare_and_learn(
    asked: Asked, reading: Reading, data: list[str], columns: dict[str, Any],
    common: dict[str, Any], *, model: Path | None, force: bool, test: list[str] | None,
    as_json: bool, source: Source,
) -> None:  # fmt: skip
    """Compare in folds, train the chosen model on all rows if requested, and print."""
    from linsep.cross_validation import kept, labeled_rows
    from linsep.tuning import compare

    started, files = perf_counter(), source
    some = candidates(asked, reading.given["formula"], common)
    asked.folds.check(source.grouped)
    with watching(source), told_once():
        source, batch = kept(source)
        rows = labeled_rows(source, batch, classify=asked.learners != ["linear"])
        found = compare(some, rows, asked.folds, asked.compared)
        chosen = (found.simplest if asked.one_se else found.ranked[0]).candidate
        if model is not None or test:
            with interrupts_allowed():
                chosen.estimator.fit(source)
    if model is not None:
        model_files.save(chosen.estimator, model, force=force)
    tested = None
    if test:
        tested = score_source(chosen.estimator, reading.tested(chosen.estimator, model, test))
    typed = " ".join(["linsep fit", *map(shlex.quote, data)])
    summary = _summary(found, asked.one_se, rows) | {
        "command": f"{typed} {_options(chosen, source, columns, files)}".strip(),
        **gaps_of(source), "test": tested, "seconds": round(perf_counter() - started, 4),
        "model": None if model is None else str(model),
    }  # fmt: skip
    if as_json:
        print_json(summary)
    else:
        _print(summary, source.recipe())


def _options(chosen: "Candidate", source: Source, columns: dict[str, Any], files: Source) -> str:
    """Return the options of ``linsep fit`` that train the chosen model: the data options that were
    typed, and the model's options. ``files`` are the source as it was opened.
    """
    context = click.get_current_context()
    flags = {str(p.name): p.opts[0] for p in context.command.get_params(context)}
    own = parameters_of(ESTIMATORS[chosen.learner])
    words = [
        in_options(name, list(value) if isinstance(value, tuple) else value, flags[name])
        for name, value in context.params.items()
        if name in flags and name not in (*NOT_OF_FIT, "data", "model", "test")
        and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]  # fmt: skip
    if columns.get("group") is not None:  # which a fit uses for held-out rows only
        words.append(in_options("exclude", [columns["group"]]))
    words += _of_columns(chosen.learner, source, own)
    words += named_for_fit(chosen.learner, files)
    return " ".join([*words, learners.options_of_model(chosen.estimator)]).strip()


def named_for_fit(learner: str, source: Source) -> list[str]:
    """Return the option of ``linsep fit`` that names a learner, unless it is the default for these
    data.
    """
    usual = learner == USUAL_LEARNER and chosen_learner(source).learner == USUAL_LEARNER
    return [] if usual else [f"--learner {learner}"]


def _of_columns(learner: str, source: Source, own: Any) -> list[str]:
    """Return the options that make the same features as for all learners."""
    options = source.options()
    scale, reference = options.get("scale"), options.get("reference_level")
    words = []
    if scale is not None and (scale == "standard") != is_scaled(learner):
        words.append(f"--scale {scale}")
    indicators = source.recipe().get("text") and learner in REGRESSIONS and "fit_intercept" in own
    if indicators and not reference:
        words.append("--reference-level none")
    return words


def _summary(found: "Comparison", one_se: bool, rows: Any) -> dict[str, Any]:
    """Return what is printed of a comparison, as plain JSON, the chosen model first."""
    import numpy as np

    first = found.simplest if one_se else found.ranked[0]
    ranked = [first, *(rated for rated in found.ranked if rated is not first)]
    baseline = None
    if found.metric == "accuracy":
        baseline = float(np.bincount(rows.codes, rows.weights).max() / _weight(rows))
    folds = found.folds
    return {
        "learner": first.candidate.learner,
        "best": first.candidate.values,
        "metric": found.metric,
        "baseline": baseline,
        "rows": rows.size,
        "folds": folds.cv,
        "repeats": folds.repeats,
        "by_time": folds.by_time,
        "one_se": one_se,
        "models": [_of_model(rated) for rated in ranked],
    }


def _weight(rows: Any) -> float:
    return float(rows.size if rows.weights is None else rows.weights.sum())


def _of_model(rated: "Rated") -> dict[str, Any]:
    return {
        "learner": rated.candidate.learner,
        "parameters": rated.candidate.values,
        "mean": rated.mean,
        "standard_error": rated.error,
        "behind": rated.behind,
        "behind_standard_error": rated.behind_error,
        "folds": rated.values.tolist(),
    }


def _print(found: dict[str, Any], recipe: dict[str, Any]) -> None:
    """Print a comparison; ``recipe`` says how the rows were read."""
    first, models, metric = found["models"][0], found["models"], found["metric"]
    baseline = f"; baseline {percent(found['baseline'])}" if found["baseline"] is not None else ""
    n_learners = len({model["learner"] for model in models})
    which = f"; the simplest within one standard error of {_name(_best(models))}"
    pairs = [
        ("best", _name(first) + which * (found["one_se"] and first["behind"] > 0)),
        (metric_named(metric).title,
         f"{with_error(metric, first['mean'], first['standard_error'], True)} in "
         f"{folds_text(found)}{baseline}"),
    ]  # fmt: skip
    if (test := found["test"]) is not None:
        pairs.append(("test", report.how_good(test)))
        pairs += report.metric_pairs(found) if "accuracy" in test else []
    pairs += [
        ("compared", f"{counted(len(models), 'model')} of {counted(n_learners, 'learner')} on "
                     f"{counted(found['rows'], 'row')}"),
        *report.gap_pairs(found, recipe),
        ("time", f"total {found['seconds']:.2f} s"),
        ("model", found["model"] or "not saved; --model FILE trains the best on all rows"),
        ("command", found["command"]),
    ]  # fmt: skip
    print_pairs(pairs)
    print()
    lines = [
        [model["learner"], _values(model) or "-",
         with_error(metric, model["mean"], model["standard_error"]), _behind(metric, model)]
        for model in models[:MOST_LINES]
    ]  # fmt: skip
    heading = metric_named(metric).title + ", %" * metric_named(metric).is_share
    print_table(["learner", "parameters", heading, "behind"], lines)
    if len(models) > MOST_LINES:
        print(f"... and {len(models) - MOST_LINES:,} worse models; --json has all")


def _best(models: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return min(models, key=lambda model: model["behind"])


def _name(model: dict[str, Any]) -> str:
    return f"{model['learner']} {_values(model)}".strip()


def _values(model: dict[str, Any]) -> str:
    cells = {name: value_text(value) for name, value in model["parameters"].items()}
    return " ".join(f"{name}={value}" for name, value in cells.items())


def value_text(value: Any) -> str:
    """Return a value of a grid as text."""
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _behind(metric: str, model: dict[str, Any]) -> str:
    if not model["behind"] and not model["behind_standard_error"]:
        return "-"
    return with_error(metric, model["behind"], model["behind_standard_error"])


def flags_without_folds(metric: str | None, one_se: bool) -> None:
    """Raise BadParameter for options that need --cv."""
    for name, given in (("metric", metric), ("one_se", one_se)):
        if given:
            raise click.BadParameter(f"{flag_of(name)} needs --cv N, the number of folds.")
