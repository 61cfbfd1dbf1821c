"""The commands ``separate``, ``verify`` and ``bounds``: proofs about data."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

import linsep
from linsep import model_files
from linsep.certificate.canonical import read_whole
from linsep.certificate.cycles import Cycle, Cycles
from linsep.certificate.proofs import read
from linsep.certificate.verdicts import AS_STORED, Check, Separations, Undecided
from linsep.cli import options, output
from linsep.cli.errors import fail
from linsep.cli.options import argument, choice, command, number, option
from linsep.cli.reading import features_of, open_like, rows_of
from linsep.cli.report import reference_pairs
from linsep.errors import DataError
from linsep.estimators.labels import source_labels
from linsep.estimators.showing import inequality
from linsep.fitting import with_intercept
from linsep.layout import elided, folded
from linsep.mistake_bounds.bounds import Bounds, length, shown as rounded_up
from linsep.mistake_bounds.margins import Linear, linear_of
from linsep.sources.base import Source
from linsep.sources.opening import open_source
from linsep.sources.remote.address import shown
from linsep.sources.remote.file import no_file
from linsep.sources.tables.reading_options import OF_CSV
from linsep.validation.checks import of_features
from linsep.words import escaped

#: added for numbers of files
NEAREST = "; numbers of files are the nearest doubles"
#: most characters of a difference that are shown
MOST_TEXT = 200
#: what JSON has of a total distance
OF_DISTANCE = ("gamma", "low", "high", "most_errors", "coef", "intercept")


@command()
def separate(
    data: list[str] = options.DATA,
    margin: str | None = option(
        "--margin", choice(["max"]), "Maximize the margin of the separator."
    ),
    errors: bool = option(
        "--errors", None, "Also bound the fewest errors of any hyperplane, with proofs."
    ),
    fit_intercept: bool = options.FIT_INTERCEPT,
    proof: Path | None = option(
        "--proof", options.NEW_FILE, "Write the proof to this file, as JSON."
    ),
    how: dict[str, Any] = options.ROWS, columns: dict[str, Any] = options.UNGROUPED_COLUMNS,
    force: bool = options.FORCE,
    time_limit: float = option(
        "--time-limit", options.typed(float, "SECONDS"), "Of the search, and of the check.",
        default=60.0,
    ),
    as_json: bool = options.AS_JSON, plot: Path | None = options.PLOT,
    look: output.Look = output.LOOK,
) -> None:  # fmt: skip
    """Decide whether a hyperplane separates the classes of DATA, and prove it.

    Exit code 3: not decided, or not checked, within the time limit.

    Example: linsep separate train.csv --target species --proof species.json
    """
    from linsep.separability.data import data_of, weights_of
    from linsep.separability.deciding import decide, with_fewest_errors
    from linsep.separability.time_limit import Task
    from linsep.separability.weighted_rows import asked

    fit_intercept = _has_intercept(how, fit_intercept)
    source = open_source(data, **how, **columns)
    output.check_outputs(force, source.paths, proof, plot)
    with output.watching(source):
        opened = data_of(source)
    opened.names = features_of(source, opened.n_features)
    task = Task(time_limit)
    with output.watching(source, task=task):
        claim = decide(opened, fit_intercept, margin, task=task)
        if errors:
            wanted = asked(True, weights_of(source), opened.n_rows)
            claim = with_fewest_errors(opened, claim, wanted, task)
        task.doing = "the check of the proof"
        checked = claim.verify(opened, time_limit=time_limit)
        if checked.holds is False:
            raise AssertionError(f"A proof that linsep made does not hold: {checked.reason}")
    written = claim.to_json(source.recipe())
    verdicts = claim.verdicts()
    if proof is not None and not isinstance(claim, Undecided):
        with output.open_output(proof, force) as out:
            out.write(written)
    if as_json:
        found = json.loads(written)
        for plain, verdict in zip(found["verdicts"], verdicts, strict=True):
            plain.update(verdict.plain_details())
        output.print_json(found | {"checked": checked.reason})
    if isinstance(claim, Undecided):
        fail(_undecided([claim]), 3)
    if not as_json:
        command = ""
        if proof is not None:
            words = map(shlex.quote, [str(proof), *map(shown, options.as_given(data))])
            names = [*options.ROWS.names, *options.UNGROUPED_COLUMNS.names]
            command = " ".join(["linsep verify", *words, *options.as_typed(names)])
        _print_claim(claim, source, [("checked", checked.reason), ("verify", command)])
    if plot is not None:
        if isinstance(claim, Separations):
            told = "Verdicts on more than two classes are not drawn: give the rows of two."
            raise DataError(told, code="class-count")
        rows = rows_of(source, opened.n_features, None)
        look.write(lambda: claim.plot(rows.X, rows.y), plot, force, not as_json)
    if checked.holds is None:
        fail(_undecided(verdicts) or checked.reason, 3)


def _has_intercept(how: dict[str, Any], fit_intercept: bool) -> bool:
    """Return whether there is an intercept, which a formula may also leave out."""
    given = {} if fit_intercept else {"fit_intercept": False}
    told = with_intercept("perceptron", how.get("formula"), given)
    return bool(told.get("fit_intercept", True))


def _undecided(verdicts: list[Any]) -> str:
    reasons = [verdict.reason for verdict in verdicts if isinstance(verdict, Undecided)]
    if not reasons:
        return ""
    many = f"{len(reasons):,} of {len(verdicts):,} subproblems are " * (len(verdicts) > 1)
    return f"{many}undecided: {reasons[0]} (--time-limit sets the limit)."


def _print_claim(claim: Any, source: Source, last: list[tuple[str, str]]) -> None:
    last = [*reference_pairs(source.recipe()), *last]
    if isinstance(claim, Separations):
        head, *rows = claim.table(source.number)
        output.show(*output.table(head, rows, [False] * 3, sentences=True), "")
        output.print_pairs([*claim.chance_line(), *last])
    else:
        output.print_pairs([*claim.described(source.number), *last])


@command()
def verify(
    proof: Path = argument(
        "proof", "PROOF", "A proof saved by `linsep separate --proof`.",
        required=True, type=options.LocalPath(),
    ),
    data: list[str] = options.DATA, how: dict[str, Any] = options.ROWS,
    columns: dict[str, Any] = options.UNGROUPED_COLUMNS,
    time_limit: float = option(
        "--time-limit", number(float, "SECONDS", at_least=0),
        "Time limit for exact arithmetic, without reading.", default=60.0,
    ),
    as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Check a proof against DATA, in exact arithmetic. Exit code 0: it holds; 1: it does not.

    The options determine how DATA is read; they must match the proof.

    Example: linsep verify species.json train.csv --target species
    """
    if not proof.exists():
        raise no_file(proof)
    try:
        claim, recipe = read(proof.read_bytes())
    except DataError as problem:
        raise problem.at(f"{proof}: ", path=proof) from None
    source = open_source(data, **how, **columns)
    with output.watching(source):
        checked = _check(claim, recipe, source, time_limit)
        lines = claim.lines()
        if checked and isinstance(claim, Cycle | Cycles):  # whose proof does not contain the rows
            rows = read_whole(source)
            labels = output.labels_text(sorted(rows.labels))
            lines += [("labels", labels), ("sha256", rows.sha256())]
    lines = [(heading, text + NEAREST * (text == AS_STORED)) for heading, text in lines]
    if as_json:
        output.print_json({"holds": checked.holds, "reason": checked.reason, "claim": lines})
        raise click.exceptions.Exit(0 if checked else 1)
    if not checked:
        fail(checked.reason)
    print(*folded(escaped(checked.reason)), "", sep="\n")
    output.print_pairs(lines)


def _check(claim: Any, recipe: dict[str, Any] | None, source: Source, limit: float) -> Any:
    difference = _difference(recipe, source.recipe(), LEARNED)
    if difference is None:
        checked = claim.verify(source, time_limit=limit)
        if not checked:
            return checked
        difference = _difference(recipe, source.recipe(), ())
        names = None if isinstance(claim, Cycle | Cycles) else claim.verdicts()[0].subject.names
        if names is not None and list(names) != features_of(source, len(names)):
            difference = "the features have other names"
    return checked if difference is None else Check(False, f"It does not hold: {difference}.")


#: settings of a recipe to compare first
FIRST = ("format", "target", "exclude", "missing", "hash_bits")
#: settings of a recipe that do not change numbers
STORAGE = (*OF_CSV, "dtype")
#: settings known only after all rows have been read
LEARNED = ("target_kind", "text", "rare", "seen")


def _difference(
    recipe: dict[str, Any] | None, ours: dict[str, Any], but: tuple[str, ...]
) -> str | None:
    """Return how the data of a proof were read differently, as a phrase, or None."""
    for name in dict.fromkeys([*FIRST, *(recipe or ()), *ours]):
        wanted, given = (json.dumps(one.get(name)) for one in (recipe or ours, ours))
        if wanted != given and name not in (*STORAGE, *but):
            wanted, given = (elided(text, MOST_TEXT) for text in (wanted, given))
            return f"its data were read with {name} {wanted}, these with {given}"
    return None


@command()
def bounds(
    data: list[str] = options.DATA, fit_intercept: bool = options.FIT_INTERCEPT,
    weights: list[float] | None = option(
        "--weights", options.NUMBERS,
        "Weights to compare with: the intercept, then one number per feature.", excludes=["model"],
    ),
    model: Path | None = option(
        "--model", options.FILE, "Show the margins of this model, whose options read DATA."
    ),
    gamma: float | None = option(
        "--gamma", number(float, above=0.0), "Also bound by the total distance from this margin."
    ),
    literals: int | None = option(
        "--literals", number(at_least=1), "Number of literals of the disjunction."
    ),
    majority: int = option(
        "--majority", number(at_least=1), "Fewest literals that are 1 in positive rows only.",
        default=1,
    ),
    how: dict[str, Any] = options.ROWS, as_json: bool = options.AS_JSON,
) -> None:  # fmt: skip
    """Bound the mistakes of learners on DATA, and show the margins of weights.

    Example: linsep bounds train.csv --target species --gamma 0.1
    """
    line, width, margins = None, None, {}
    if model is None:
        fit_intercept = _has_intercept(how, fit_intercept)
        source = open_source(data, **how)
    else:
        loaded = model_files.loaded(model)
        files = {name: how[name] for name in options.FILES.names}
        source, line = open_like(loaded, model, data, **files), linear_of(loaded)
        width = loaded.n_features_in_
    read = rows_of(source, width, None)
    X, y = read.X, source_labels(source, read.y)
    classes, width = np.unique(y), X.shape[1]
    if weights is not None:
        given = SimpleNamespace(
            coef_=np.array([weights[fit_intercept:]]), intercept_=weights[0] * fit_intercept,
            classes_=classes, fit_intercept=fit_intercept,
        )  # fmt: skip
        line = linear_of(given)
    with of_features():  # the columns are in the order of the recipe
        rows = X
        if line is not None:
            rows, margins, fit_intercept = line.rows(X), _margins(line, X, y), line.fit_intercept
    found = linsep.bounds(
        rows, y, fit_intercept=fit_intercept,
        # The intercept comes last in Python.
        weights=None if weights is None else [*weights[fit_intercept:], *weights[:fit_intercept]],
        gamma=gamma, literals=literals, majority=majority,
    )  # fmt: skip
    least = None
    if gamma is not None and len(classes) == 2:
        least = linsep.total_distance(rows, y, gamma, fit_intercept=fit_intercept)
    if as_json:
        names = "name value what passes learner source comparator distance"
        output.print_json({
            "longest": found.longest,
            "margin": found.margin,
            "bounds": [{name: getattr(bound, name) for name in names.split()} for bound in found],
            "left_out": found.left_out,
            "total_distance": least and {name: getattr(least, name) for name in OF_DISTANCE},
            "margins": margins,
        })  # fmt: skip
        return
    output.show(escaped(str(found), lines=True), "", *output.pairs([
        *_compared(found, features_of(source, width), output.label_text(classes[-1])),
        ("least distance", least and str(least)),
        ("margins", ", ".join(f"{kind} {value:.6g}" for kind, value in margins.items())),
    ]))  # fmt: skip


def _margins(line: Linear, X: Any, y: np.ndarray) -> dict[str, float]:
    kinds = {
        "functional": linsep.functional_margin, "geometric": linsep.geometric_margin,
        "cosine": linsep.cosine_margin, "L1": linsep.l1_margin,
    }  # fmt: skip
    found = {kind: margin(line, X, y) for kind, margin in kinds.items()}
    return found | ({"unsigned": linsep.unsigned_margin(line, X)} if len(line.classes) == 2 else {})


def _compared(found: Bounds, names: list[str], means: str) -> list[tuple[str, str]]:
    """Return the weights of the hinge bounds as equations, each with the distance of the rows."""
    pairs: list[tuple[str, str]] = []
    for bound in found:
        w, moved = bound.comparator, bound.distance
        if bound.name in ("hinge", "total distance") and w is not None and moved is not None:
            intercept = float(w[len(names)]) if len(w) > len(names) else 0.0
            pairs += [
                (f"w of {bound.name}", inequality(w[: len(names)], names, intercept, means)),
                ("", f"total distance {rounded_up(moved)} of the rows from its margin "
                 f"{1 / length(w):.4g}"),
            ]  # fmt: skip
    return pairs
