"""What commands print: one screen, aligned, the number people came for first."""

import json
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from linsep.engine.state import pairs as pairs_of


def percent(share: float) -> str:
    """A share as a percentage with two decimals."""
    return f"{100 * share:.2f} %"


def label_text(label: Any) -> str:
    """A label as people write it: 1 rather than 1.0."""
    plain = label.item() if isinstance(label, np.generic) else label
    return str(int(plain)) if isinstance(plain, float) and plain.is_integer() else str(plain)


def labels_text(labels: np.ndarray, most: int = 8) -> str:
    """A few labels, comma separated."""
    shown = ", ".join(label_text(label) for label in labels[:most])
    return shown + (", ..." if labels.size > most else "")


def show(table: Table) -> None:
    """Print a table without the spaces that rich leaves at the ends of lines."""
    console = Console(highlight=False)
    with console.capture() as shown:
        console.print(table)
    print("\n".join(line.rstrip() for line in shown.get().splitlines()))


def print_pairs(pairs: list[tuple[str, str]]) -> None:
    """Aligned ``name  text`` lines."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in pairs:
        table.add_row(name, text)
    show(table)


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """A plain table, numbers to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for k, name in enumerate(header):
        table.add_column(name, justify="left" if k == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    show(table)


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on one line."""
    print(json.dumps(content, default=lambda value: value.item()))


def fit_summary(
    model: Any, seconds: dict[str, float], test: dict[str, Any] | None
) -> dict[str, Any]:
    """Everything ``linsep fit`` says, as plain JSON."""
    passes = model._passes
    return {
        "learner": type(model).__name__,
        "rows": passes[0].rows if passes else 0,
        "features": model.n_features_in_,
        "classes": model.classes_.tolist(),
        "passes": len(passes),
        "mistakes": model.mistakes_.tolist(),
        "updates": model.n_updates_,
        "stop_reason": model.stop_reason_,
        "progressive_accuracy": model.progressive_accuracy_ if passes else None,
        "training_accuracy": getattr(model, "training_accuracy_", None),
        "validation_accuracy": max(
            (p.validation_score for p in passes if p.validation_score is not None), default=None
        ),
        "test": test,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def print_fit(model: Any, summary: dict[str, Any]) -> None:
    """The screen at the end of ``linsep fit``."""
    test, held_out, training = (
        summary[name] for name in ("test", "validation_accuracy", "training_accuracy")
    )
    mistakes = summary["mistakes"]
    pairs = []
    if test is not None:
        pairs.append(
            ("test", f"{percent(test['accuracy'])} right, {test['rows']:,} rows never learnt")
        )
    if held_out is not None:
        pairs.append(
            ("held out", f"{percent(held_out)} right, rows kept from learning (best pass)")
        )
    if summary["progressive_accuracy"] is not None:
        share = percent(summary["progressive_accuracy"])
        pairs.append(("progressive", f"{share} right, first pass, each row before it was learnt"))
    measured = "not measured: the rows were not kept; `linsep score` reads them again"
    pairs += [
        ("training", measured if training is None else f"{percent(training)} right, final weights"),
        ("learnt", learnt_text(summary)),
        (
            "passes",
            f"{summary['passes']}, mistakes {sum(mistakes):,} "
            f"(first pass {mistakes[0]:,}, last {mistakes[-1]:,})",
        ),
        ("stopped", f"{summary['stop_reason']}: {model.stop_reason_.sentence}"),
        ("time", ", ".join(f"{name} {value:.2f} s" for name, value in summary["seconds"].items())),
        ("model", summary["model"] or "not saved; --model FILE saves it"),
    ]
    if summary["cache"]:
        pairs.append(("cache", f"{summary['cache']}, read instead of the data next time"))
    print_pairs(pairs)


def learnt_text(summary: dict[str, Any]) -> str:
    """Learner, classes, rows and features in one line."""
    labels = np.array(summary["classes"], dtype=object)
    return (
        f"{summary['learner']}, {labels.size} classes ({labels_text(labels)}), "
        f"{summary['rows']:,} rows, {summary['features']:,} features"
    )


def print_score(result: dict[str, Any]) -> None:
    """The screen of ``linsep score``."""
    pairs = [
        ("accuracy", f"{percent(result['accuracy'])} of {result['rows']:,} rows right"),
        ("baseline", f"{percent(result['most_frequent'])} by always saying the commonest class"),
    ]
    if result["unknown_labels"]:
        pairs.append(("unknown", f"{result['unknown_labels']:,} rows of classes never learnt"))
    print_pairs(pairs)
    shares = [(c["recall"], c["precision"]) for c in result["classes"]]
    print_table(
        ["class", "rows", "right", "recall", "precision"],
        [
            [label_text(c["label"]), f"{c['rows']:,}", f"{c['right']:,}"]
            + ["-" if share is None else percent(share) for share in pair]
            for c, pair in zip(result["classes"], shares, strict=True)
        ],
    )


def model_summary(model: Any, top: int) -> dict[str, Any]:
    """Everything ``linsep inspect`` says, as plain JSON."""
    summary = fit_summary(model, {}, None)
    names = getattr(model, "feature_names_in_", None)
    first = model.recipe_.get("index_base", 0) if hasattr(model, "recipe_") else 0
    machines = []
    for name, weights, intercept in zip(
        machine_names(model), model.coef_, model.intercept_, strict=True
    ):
        order = np.argsort(-np.abs(weights), kind="stable")[:top]
        heaviest = [[str(j + first) if names is None else str(names[j]), weights[j]] for j in order]
        machines.append(
            {
                "machine": name,
                "intercept": intercept,
                "nonzero": int(np.count_nonzero(weights)),
                "norm": float(np.linalg.norm(weights)),
                "heaviest": [[name, float(weight)] for name, weight in heaviest if weight],
            }
        )
    summary["parameters"] = model.get_params(deep=False)
    summary["recipe"] = getattr(model, "recipe_", None)
    summary["weights"] = machines
    return summary


def machine_names(model: Any) -> list[str]:
    """What each row of ``coef_`` decides: a class, or one class against another."""
    labels = [label_text(label) for label in model.classes_]
    if len(labels) == 2:
        return [f"{labels[1]} against {labels[0]}"]
    if model.multiclass == "ovo":
        return [f"{labels[b]} against {labels[a]}" for a, b in pairs_of(len(labels))]
    return labels


def print_model(summary: dict[str, Any]) -> None:
    """The screen of ``linsep inspect``."""
    mistakes = summary["mistakes"]
    print_pairs(
        [
            ("learnt", learnt_text(summary)),
            ("passes", f"{summary['passes']}, mistakes {sum(mistakes):,}"),
            ("stopped", str(summary["stop_reason"])),
            (
                "parameters",
                ", ".join(f"{k}={v!r}" for k, v in sorted(summary["parameters"].items())),
            ),
        ]
    )
    for machine in summary["weights"]:
        print_pairs(
            [
                (
                    machine["machine"],
                    f"intercept {machine['intercept']:g}, {machine['nonzero']:,} weights not zero, "
                    f"norm {machine['norm']:.4g}",
                )
            ]
        )
        if machine["heaviest"]:
            print_table(
                ["  feature", "weight"],
                [[f"  {name}", f"{weight:+.6g}"] for name, weight in machine["heaviest"]],
            )
