"""Output of ``linsep score``: accuracy first, then metrics and classes, on one screen."""

from typing import Any

from linsep.cli.options import Option
from linsep.cli.output import label_text, print_pairs, print_table
from linsep.cli.report import baseline_text, metric_text, right_text, rows_text, unscored_pairs
from linsep.layout import elided, room, table_width, width_of
from linsep.scoring.metrics import METRICS as KNOWN
from linsep.words import counted, percent

#: lines of a screen
LINES = 24
#: classes up to which the confusion matrix is printed, if it fits with names cut to so many letters
MOST_PREDICTED, MOST_LETTERS = 12, 12
#: minimum number of classes to print if there are more
FEWEST_CLASSES = 5
METRICS = Option(
    "--metrics", "NAME",
    "Metric to print, such as roc_auc; separate several by commas; repeatable.  [default: all]",
    many=True,
)  # fmt: skip
GROUP = Option(
    "--group", "COLUMN", "Column of groups: intervals resample whole groups (tables only)."
)


def print_score(result: dict[str, Any], model: Any) -> None:
    """Print the output of ``linsep score``."""
    name = "accuracy" if "accuracy" in result else "r2"
    if name == "accuracy":
        first, baseline = ("accuracy", right_text(result)), baseline_text(result)
    else:
        first = ("R^2", f"{result['r_squared']:.6g} of {rows_text(result)}")
        baseline = f"{result['standard_deviation']:.6g} rms, always the mean"
    # other undefined metrics are left out silently
    names = ("roc_auc", "average_precision", "r2")
    undefined = [result["undefined"][one] for one in names if one in result["undefined"]]
    pairs = [
        first,
        *_interval_pairs(result, name),
        ("baseline", baseline),
        *unscored_pairs(result, model),
        *[("note", sentence) for sentence in undefined[:1]],
    ]
    print_pairs(pairs)
    lines = len(pairs) + _print_metrics(result, name)
    if name == "accuracy":
        print()
        table = _classes_with_predictions(result)
        if table is None:
            _print_classes(result, LINES - lines - 4)
        else:
            print_table(*table)


def _interval_pairs(result: dict[str, Any], name: str) -> list[tuple[str, str]]:
    about = result["intervals"]
    ends = result["metrics"].get(name, {}).get("interval")
    units, resamples = about["of"], f"{about['resamples']:,}"
    if ends is None:
        return []
    what = counted(about[units], units.removesuffix("s")) if units == "groups" else "the rows"
    drawn = (
        f"; metrics are computed on every {about['every']:,}th row" if about["every"] > 1 else ""
    )
    low, high = (metric_text(name, end) for end in ends)
    return [
        (
            "interval",
            f"{low} to {high} ({100 * about['level']:g}% interval, {resamples} resamples of "
            f"{what}){drawn}",
        )
    ]


def _print_metrics(result: dict[str, Any], without: str) -> int:
    """Print a line for each metric but one; return how many lines."""
    rows = []
    for name, found in result["metrics"].items():
        if name == without or found["value"] is None:
            continue
        title = KNOWN[name].title
        if name == "f1":
            title += f" of {label_text(result['positive_class'])}"
        ends = found["interval"]
        between = "-" if ends is None else " to ".join(metric_text(name, end) for end in ends)
        value, baseline = (metric_text(name, found[key]) for key in ("value", "baseline"))
        rows.append([title, value, between, baseline])
    if not rows:
        return 0
    level = f"{100 * result['intervals']['level']:g}% interval"
    print()
    print_table(["metric", "value", level, "baseline"], rows)
    return len(rows) + 2


def _classes_with_predictions(result: dict[str, Any]) -> tuple[list[str], list[list[str]]] | None:
    """Return header and rows of a table of the classes with the confusion matrix beside them, None
    if it does not fit.
    """
    confusion, classes = result["confusion"], result["classes"]
    if len(classes) > MOST_PREDICTED:
        return None
    labels = [label_text(c["label"]) for c in classes]
    rows = [
        [label, f"{c['rows']:,}", _percent(c["recall"]), _percent(c["precision"]), "",
         *(f"{value:,.6g}" for value in line)]
        for label, c, line in zip(labels, classes, confusion["matrix"], strict=True)
    ]  # fmt: skip
    if result["unknown_labels"]:
        counts = [f"{value:,.6g}" for value in confusion["unknown"]]
        rows.append(["(unknown)", f"{result['unknown_labels']:,}", "-", "-", "", *counts])
    header = ["class", "rows", "recall", "precision", "as", *labels]
    short = [[elided(cell, MOST_LETTERS) for cell in line] for line in (header, *rows)]
    return (header, rows) if table_width(short) <= room() else None


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _print_classes(result: dict[str, Any], most: int) -> None:
    """Print the classes, or the most frequent of them, and the most frequent confusions."""
    classes = result["classes"]
    if len(classes) > max(most, FEWEST_CLASSES) + 1:  # a line for one class would hide nothing
        classes = sorted(classes, key=lambda c: -c["rows"])[: max(most, FEWEST_CLASSES)]
    print_table(
        ["class", "rows", "right", "recall", "precision"],
        [
            [label_text(c["label"]), f"{c['rows']:,}", f"{c['right']:,}",
             _percent(c["recall"]), _percent(c["precision"])]
            for c in classes
        ],
    )  # fmt: skip
    if len(result["classes"]) > len(classes):
        print(f"... and {len(result['classes']) - len(classes):,} rarer classes; --json has all")
    if confusions := result["confusion"]["most_frequent"]:
        first, *more = [
            f"{elided(label_text(c['label']), 24)} as {elided(label_text(c['predicted']), 24)} "
            f"({c.get('rows', c.get('weight')):,.6g})"
            for c in confusions
        ]
        for one in more:
            if width_of(f"confused  {first}, {one}") > room():
                break
            first += f", {one}"
        print_pairs([("confused", first)])
