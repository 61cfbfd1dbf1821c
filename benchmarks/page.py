"""The tables of the pages on speed and on peers and of the README, from what was measured.

``measured.json`` holds the ratios of the last runs of every row. ``python -m benchmarks --record``
adds the ratios of a run and rewrites the tables; a test compares the pages with the file.
"""

import json
from pathlib import Path
from statistics import median
from typing import Any

MEASURED = Path(__file__).parent / "measured.json"
ROOT = Path(__file__).parents[1]
#: so many runs are kept of a row
RUNS = 5
BEGIN, END = "<!-- measured: {} -->", "<!-- end -->"
#: the package of the other side, where a row does not name it
OTHERS = {
    "from-scikit-learn": "scikit-learn ",
    "from-liblinear": "scikit-learn ",
    "from-statsmodels": "statsmodels ",
    "from-river": "river, ",
}
#: rows of the README, with shorter names
SHORT = {
    "dense": "perceptron, 500,000 × 128",
    "process-vw-arow": "learner `arow`, 1 GB of svmlight",
    "text-vw-arow": "learner `arow`, 500 MB of text",
    "logistic": "logistic, 1,000,000 × 50",
    "small-fit-200x5-logistic": "logistic, 200 × 5",
    "separation 100,000 x 50, overlapping": "separable? 100,000 × 50",
    "separation w8a": "separable? 49,749 × 300, sparse",
}

#: whom rows compare linsep with
COMPARED = (
    "scikit-learn", "LIBLINEAR", "statsmodels", "firthmodels", "Vowpal Wabbit", "river", "HiGHS",
)  # fmt: skip


def measured() -> dict[str, Any]:
    """What was measured, by the names of the rows."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


def record(rows: list[dict[str, Any]]) -> None:
    """Add the rows of a run to what was measured, and write the tables anew."""
    known = measured()
    for row in rows:
        before = known.get(row["name"], {}).get("ratios", [])
        known[row["name"]] = {key: row[key] for key in ("work", "against", "measure")} | {
            "ratios": [*before, round(row["ratio"], 3)][-RUNS:],
            "ours": row["ours_accuracy"],
            "theirs": row["theirs_accuracy"],
        }
    MEASURED.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    for name, table in tables(known).items():
        page = ROOT / name
        page.write_text(with_table(page.read_text("utf-8"), table), "utf-8")


def tables(known: dict[str, Any]) -> dict[str, str]:
    """The table of each page."""
    return {
        "docs/explanation/speed.md": full_table(known),
        "docs/explanation/peers.md": peers_tables(known),
        "README.md": short_table(known),
    }


def with_table(text: str, table: str) -> str:
    """A page with this table between its marks."""
    before, _, rest = text.partition(BEGIN.format("ratios"))
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN.format('ratios')}\n{table}\n{END}{after}"


def full_table(known: dict[str, Any]) -> str:
    """Every row, with what both sides reached."""
    lines = [
        "| work | against | times as fast | linsep reached | the other |",
        "|---|---|---|---|---|",
    ]
    for name, row in known.items():
        ours, theirs = (reached(row[side], row["measure"]) for side in ("ours", "theirs"))
        peer = OTHERS.get(name.rpartition("-")[0], "")
        cells = (_signs(row["work"]), peer + row["against"], ratios(row["ratios"]), ours, theirs)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def peers_tables(known: dict[str, Any]) -> str:
    """How many rows either side wins, by peer, and every row in which the other is ahead."""
    lines = [
        "| against | comparisons | linsep faster | about equal | the other faster | median ratio |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    behind: dict[str, Any] = {}
    for peer in COMPARED:
        middles = []
        for name, row in known.items():
            if peer.lower() not in f"{name} {row['against']}".lower():
                continue
            middles.append(middle := median(row["ratios"]))
            if middle < 1 or _less_accurate(row):
                behind[name] = row
        faster, slower = sum(m > 1.1 for m in middles), sum(m < 0.9 for m in middles)
        equal = len(middles) - faster - slower
        cells = (peer, len(middles), faster, equal, slower, ratios([median(middles)]))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    said = "Every row in which the other is faster, or more accurate by a thousandth:"
    return "\n".join([*lines, "", said, "", full_table(behind)])


def _less_accurate(row: dict[str, Any]) -> bool:
    return (
        row["measure"] == "accuracy" and bool(row["ours"]) and row["theirs"] - row["ours"] > 0.001
    )


def short_table(known: dict[str, Any]) -> str:
    """The rows of the README, with the accuracies of both sides."""
    lines = ["| work | against | times as fast | accuracy: linsep, other |", "|---|---|---|---|"]
    for name, work in SHORT.items():
        if name in known:
            row = known[name]
            sides = ("ours", "theirs") if row["measure"] == "accuracy" and row["ours"] else ()
            shown = ", ".join(f"{row[side]:.3f}" for side in sides)
            cells = (work, row["against"].split(",")[0], ratios(row["ratios"]), shown)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ratios(found: list[float]) -> str:
    """The lowest and the highest ratio, two digits each."""
    digits = ((9.95, 0), (0.095, 1), (0.0, 2))
    low, high = (
        f"{ratio:.{next(n for least, n in digits if ratio >= least)}f}"
        for ratio in (min(found), max(found))
    )
    return low if low == high else f"{low} to {high}"


def reached(value: float | None, measure: str) -> str:
    """An accuracy, or another number that both sides reached."""
    return "" if value is None else f"{measure} {value:.4g}"


def _signs(work: str) -> str:
    return work.replace(" x ", " × ")
