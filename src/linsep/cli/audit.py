"""The command ``audit``: why one row has its score."""

from math import fsum
from typing import Annotated, Any

import typer

from linsep.cli import file_options, options, report
from linsep.cli.file_options import Files
from linsep.cli.score import open_like
from linsep.cli.screen import label_text, print_pairs, print_table
from linsep.cli.standard_input import reads_data
from linsep.errors import DataError
from linsep.estimators._common.explaining import explained, without_weights
from linsep.model_files import format as model_file
from linsep.parameters import Parameter

Row = Annotated[
    Any,
    typer.Option(
        "--row",
        parser=options.reader(Parameter(name="row", kind=int, at_least=1)),
        help="Which row of DATA, counted from 1.",
        metavar="N",
    ),
]
Most = Annotated[
    Any,
    typer.Option(
        "--top",
        parser=options.reader(Parameter(name="top", kind=int, at_least=1)),
        help="Show the N features with the largest products.  [default: 30]",
        metavar="N",
        show_default=False,
    ),
]


@reads_data
@file_options.added
def audit(
    model: options.ModelIn,
    data: options.Data,
    *,
    row: Row = 1,
    top: Most = None,
    files: Files,
    as_json: options.AsJson = False,
) -> None:
    """Show each feature's value, weight and product in one row of DATA, largest product first.

    The products, the intercept and the rounding of their sum add up to the score.

    Example: linsep audit species.linsep test.csv --row 3
    """
    estimator = model_file.load(model)
    if (why := without_weights(estimator)) is not None:
        raise DataError(
            f"{model} is a {type(estimator).__name__} that {why}, so that its "
            "scores are no sums of one product for each feature: learn another model."
        )
    source = open_like(estimator, model, data, labelled=False, **files)
    found = explained(estimator, source, row - 1)
    if as_json:
        report.print_json(found)
    else:
        print_audit(found, top or 30)


def print_audit(found: dict[str, Any], top: int) -> None:
    """Print the output of ``linsep audit``."""
    prediction = found["prediction"]
    pairs = [("row", found["row"]), ("score", f"{found['score']!r}, {found['score_of']}")]
    if prediction != found["score"]:
        pairs.insert(1, ("prediction", label_text(prediction)))
    print_pairs(pairs)
    shown, rest = found["terms"][:top], found["terms"][top:]
    rows = [
        [t["feature"], f"{t['value']:.6g}", f"{t['weight']:+.6g}", f"{t['product']:+.6g}"]
        for t in shown
    ]
    if rest:
        total = fsum(term["product"] for term in rest)
        rows.append([f"and {len(rest):,} more", "", "", f"{total:+.6g}"])
    if found["rounding"]:
        rows.append(["rounding of the sum", "", "", f"{found['rounding']:+.6g}"])
    print_table(["feature", "value", "weight", "product"], rows)
