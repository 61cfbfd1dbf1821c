"""The command ``effects``: marginal effects of a logistic regression."""

from pathlib import Path
from typing import Any

import click

from linsep import model_files
from linsep.cli import options, report
from linsep.cli.options import command
from linsep.cli.output import print_json, watching
from linsep.cli.reading import open_like, tell_unknown
from linsep.errors import DataError
from linsep.words import a

AT = options.Repeatable(
    "--at", metavar="COLUMN=VALUE",
    help="'overall': the mean effect over all rows; 'mean': the effects at the means of the "
    "features; COLUMN=VALUE: the mean effect over all rows, with this value set in the "
    "column. Separate several by commas; repeatable.  [default: overall]",
)  # fmt: skip
EFFECTS_OF = options.Argument(
    "data",
    required=True,
    metavar="DATA...",
    help="Rows to average over: usually the training rows.",
)


@command(
    options.MODEL, EFFECTS_OF, AT, options.LEVEL, options.FILES, options.TOP_COEFFICIENTS,
    options.AS_JSON,
)  # fmt: skip
def effects(
    model: Path, data: list[str], *, at: list[str] | None, level: float, files: dict[str, Any],
    top: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Show the marginal effects of a logistic regression on probabilities.

    A marginal effect is the change in the probability of a class per unit of a feature.

    Example: linsep effects odds.linsep train.csv --at age=40
    """
    fitted, where = model_files.load(model), values_of(at)
    if not hasattr(fitted, "marginal_effects"):
        raise DataError(
            f"{model} is {a(type(fitted).__name__)}: only logistic regressions have marginal "
            "effects on probabilities.",
            code="unsupported",
            path=model,
        )
    labeled = True if getattr(fitted, "recipe_", {}).get("weight") else None
    source = open_like(fitted, model, data, **files, labeled=labeled)
    with watching(source):
        table = fitted.marginal_effects(source, at=where, level=level)
    tell_unknown(source.unseen, fitted.recipe_)
    if as_json:
        print_json(table.to_dict())
    else:
        report.print_summary(table, top)


def values_of(given: list[str] | None) -> str | dict[str, str]:
    """Return the argument ``at`` of :meth:`linsep.LogisticRegression.marginal_effects` from texts;
    raise BadParameter for invalid ones.
    """
    parts = [part.strip() for text in given or ["overall"] for part in text.split(",")]
    if len(parts) == 1 and parts[0] in ("overall", "mean"):
        return parts[0]
    found: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.rpartition("=")
        if not equals:
            raise click.BadParameter(
                f"--at is {part!r}: give overall or mean alone, or COLUMN=VALUE."
            )
        found[name] = value
    return found
