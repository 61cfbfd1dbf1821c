"""The command ``tune``: compare models on held-out rows or in folds, and train the best."""

from pathlib import Path
from time import perf_counter
from typing import Any

import click

from linsep import model_files
from linsep._system.interrupts import interrupts_allowed
from linsep.catalog import ESTIMATORS, LINEAR
from linsep.cli import comparing, learner_options as learners, options, report
from linsep.cli.comparing import MOST_LINES, Asked, LearnerNames, value_text
from linsep.cli.errors import in_options
from linsep.cli.options import Option, Repeatable, command
from linsep.cli.output import (
    check_all_free,
    never_overwrite,
    print_json,
    print_pairs,
    print_table,
    watching,
)
from linsep.cli.predict import score_source
from linsep.cli.reading import READING, Reading
from linsep.cli.report import gap_pairs
from linsep.cli.validating import FOLDS
from linsep.estimators._common.labels import plain_labels
from linsep.fitting import USUAL_LEARNER, chosen_learner, with_intercept
from linsep.scoring import gaps_of
from linsep.sources.base import Source
from linsep.tuning import Model, SideBySide, combinations
from linsep.words import counted, percent

GRID = Repeatable(
    "--grid", section="Learner", metavar="PARAMETER=VALUE,...",
    help="Values of a parameter to compare; repeatable. With several learners, "
    "LEARNER.PARAMETER=... applies to one of them.",
)  # fmt: skip
LEARNERS = Repeatable(
    "--learner", section="Learner", type=LearnerNames(ESTIMATORS), metavar="NAME,...",
    help=lambda: f"Learning algorithm: {', '.join(ESTIMATORS)}; with --cv, several to compare, the "
    "simplest first.  [default: as for `linsep fit`]",
)  # fmt: skip
METRIC = Option(
    "--metric", section="Validation", metavar="NAME",
    help="Metric to compare models by, such as balanced_accuracy, log_loss or roc_auc (with "
    "--cv).  [default: accuracy, or r2 for regressions]",
)  # fmt: skip
ONE_SE = Option(
    "--one-se", section="Validation", is_flag=True,
    help="Choose the simplest model within one standard error of the best (with --cv).",
)  # fmt: skip


@command(
    options.DATA, READING, GRID, options.MODEL_OUT, options.FORCE, options.TEST, LEARNERS,
    options.AS_JSON, options.RANDOM_STATE, options.CLASS_WEIGHT, options.REFERENCE,
    options.COLUMNS, FOLDS, METRIC, ONE_SE, cls=learners.LearningCommand,
)  # fmt: skip
def tune(
    data: list[str], *, reading: Reading, grid: list[str] | None, model: Path | None, force: bool,
    test: list[str] | None, learner: list[str] | None, as_json: bool, random_state: int,
    class_weight: list[str] | None, reference: str | None, columns: dict[str, Any],
    folds: Any, metric: str | None, one_se: bool, parameters: dict[str, Any],
) -> None:  # fmt: skip
    """Compare models on held-out rows of DATA, and train the best.

    Example: linsep tune train.csv --target species --learner pa --grid C=0.01,0.1,1 --model m
    """
    check_all_free(force, model)
    reading = reading._replace(group=columns["group"])
    names = list(dict.fromkeys(name for given in learner or () for name in given.split(",")))
    chosen = {"random_state": random_state, "class_weight": class_weight, "reference": reference}
    how: dict[str, Any] = {"model": model, "force": force, "test": test, "as_json": as_json}
    if folds is None:
        comparing.flags_without_folds(metric, one_se)
        _on_one_hold_out(_only(names), grid, reading, data, columns, parameters, chosen, **how)
        return
    asked = Asked(
        names or [USUAL_LEARNER], grid, parameters,
        folds._replace(random_state=random_state), metric, one_se,
    )  # fmt: skip
    asked.check()
    source = comparing.opened(asked, reading, data, columns)
    if not names:
        asked = asked._replace(learners=[_chosen(source, parameters, grid)])
    never_overwrite(source.paths, model)
    reading.check(source, test=test)
    common = _common(source, chosen)
    comparing.compare_and_learn(asked, reading, data, columns, common, source=source, **how)


def _chosen(source: Source, parameters: dict[str, Any], grid: list[str] | None) -> str:
    """Return the default learner to compare."""
    return chosen_learner(source, parameters | learners.in_grid(grid)).learner


def _only(names: list[str]) -> str | None:
    """Return the learner to compare without folds, if it is named."""
    if len(names) > 1:
        raise click.BadParameter(
            "--learner takes one learner without --cv N: add --cv 5 to compare several."
        )
    name = names[0] if names else None
    if name is not None and name not in LINEAR:
        raise click.BadParameter(
            f"--learner must be one of {', '.join(LINEAR)} without --cv N, not {name}."
        )
    return name


def _common(source: Source, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that all models share."""
    return chosen | {
        "class_weight": learners.class_weights(chosen["class_weight"], source),
        "reference": learners.reference_class(chosen["reference"], source),
    }


def _on_one_hold_out(
    named: str | None, grid: list[str] | None, reading: Reading, data: list[str],
    columns: dict[str, Any], parameters: dict[str, Any], chosen: dict[str, Any], *,
    model: Path | None, force: bool, test: list[str] | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare the models of one learner side by side, on one set of held-out rows."""
    started, learner = perf_counter(), named or USUAL_LEARNER
    if not grid:
        example = LINEAR[learner].grid_example
        raise click.BadParameter(f"give values to compare with --grid, such as --grid {example}.")
    if named is not None:
        learners.grids_of(grid, [learner], parameters)  # raises errors before the data are opened
    group = columns.get("group")
    parameters = with_intercept(learner, reading.given["formula"], parameters)
    source = reading.source(data, learner, columns, parameters)
    learner = named or _chosen(source, parameters, grid)
    varied = learners.grids_of(grid, [learner], parameters)[learner]
    never_overwrite(source.paths, model)
    reading.check(source, test=test)
    common = _common(source, chosen)
    race = SideBySide(_estimators(learner, varied, parameters, common), source)

    def learn_best(source: Source) -> Any:
        """Train the best model on all rows, as ``linsep fit`` does, if requested."""
        given = parameters | {"validation_fraction": None} | race.best.values
        race.final = learners.make_learner("fit", learner, given, **common)
        with interrupts_allowed():
            return race.final.fit(source) if model is not None or test else None

    with watching(source, race):
        best = race.run(learn_best)
    if model is not None:
        model_files.save(best, model, force=force)
    tested = score_source(best, reading.tested(best, model, test)) if test else None
    own = comparing.named_for_fit(learner, source)
    found = summary(race, own, tested, model, perf_counter() - started)
    if group is not None:  # which `fit` takes with early stopping only
        found["options"] = f"{found['options']} {in_options('exclude', [group])}".strip()
    if as_json:
        print_json(found)
    else:
        print_tune(found, source.recipe())


def _estimators(
    learner: str, varied: dict[str, list[Any]], given: dict[str, Any], common: dict[str, Any]
) -> list[tuple[dict[str, Any], Any]]:
    """Return the models of the grid: their values in it, and an estimator with them."""
    found = []
    for chosen in combinations(varied):
        own = given | chosen | {"early_stopping": True}
        found.append((chosen, learners.make_learner("tune", learner, own, **common)))
    return found


def summary(
    race: SideBySide, own: list[str], tested: dict[str, Any] | None, path: Path | None,
    seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """Return everything that ``linsep tune`` prints, as plain JSON; ``own`` are the options of
    ``linsep fit`` that name the learner.
    """
    return {
        "learner": type(race.final).__name__,
        "rows": race.n_rows,
        "classes": plain_labels(race.fits[0].models[0].estimator.classes_),
        "held_out_rows": race.best.missed.wrong.size,
        "baseline": race.baseline,
        "best": race.best.values,
        "options": " ".join([*own, learners.options_of_model(race.final)]).strip(),
        "models": [_of_model(model, race.best) for model in race.ranked],
        "passes": sum(fit.passes for fit in race.fits),
        **gaps_of(race.source),
        "test": tested,
        "seconds": round(seconds, 4),
        "model": None if path is None else str(path),
        "cache": None if race.source.kept is None else str(race.source.kept),
    }


def _of_model(model: Model, best: Model) -> dict[str, Any]:
    behind, error = model.behind or model.missed.behind(best.missed)
    return {
        "parameters": model.values,
        "held_out_accuracy": model.missed.accuracy,
        "standard_error": model.missed.error,
        "behind": behind,
        "behind_standard_error": error,
        "passes": model.passes,
        "stop_reason": "dropped" if model.dropped else model.stop_reason,
    }


def print_tune(found: dict[str, Any], recipe: dict[str, Any]) -> None:
    """Print the output of ``linsep tune``; ``recipe`` says how the rows were read."""
    first, models = found["models"][0], found["models"]
    rows = counted(found["held_out_rows"], "held-out row")
    dropped = sum(model["stop_reason"] == "dropped" for model in models)
    spared = f", {dropped:,} dropped early" if dropped else ""
    pairs = [
        ("best", ", ".join(f"{name}={value_text(v)}" for name, v in found["best"].items())),
        (
            "held out",
            f"{_with_error(first)}% of {rows} right; baseline {percent(found['baseline'])}",
        ),
    ]
    if found["test"] is not None:
        pairs.append(("test", f"{report.right_text(found['test'])}; "
                              f"{report.baseline_text(found['test'])}"))  # fmt: skip
        pairs += report.metric_pairs(found)
    pairs += [
        ("learned", f"{counted(len(models), 'model')} of {found['learner']}{spared}, "
                   f"{found['passes']:,} passes over "
                   f"{counted(found['rows'] - found['held_out_rows'], 'row')}"),
        *gap_pairs(found, recipe),
        ("time", f"total {found['seconds']:.2f} s"),
        ("model", found["model"] or "not saved; --model FILE trains the best on all rows"),
        ("options", f"{found['options'] or 'all at their defaults'}; `linsep fit` trains the same "
                "model with these"),
    ]  # fmt: skip
    print_pairs(pairs)
    print()
    names = list(found["best"])
    lines = [
        [*(value_text(model["parameters"][name]) for name in names), _with_error(model),
         _behind(model), str(model["passes"]), str(model["stop_reason"])]
        for model in models[:MOST_LINES]
    ]  # fmt: skip
    print_table([*names, "held out, %", "behind", "passes", "stopped"], lines)
    if len(models) > MOST_LINES:
        print(f"... and {len(models) - MOST_LINES:,} worse models; --json has all")


def _with_error(model: dict[str, Any]) -> str:
    return f"{100 * model['held_out_accuracy']:.2f} ± {100 * model['standard_error']:.2f}"


def _behind(model: dict[str, Any]) -> str:
    if not model["behind"] and not model["behind_standard_error"]:
        return "-"
    return f"{100 * model['behind']:.2f} ± {100 * model['behind_standard_error']:.2f}"
