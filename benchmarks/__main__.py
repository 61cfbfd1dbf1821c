"""``python -m benchmarks [--record] [NAME ...]``: run races, print their table, write JSON.

A name may be a pattern, such as 'from-*'. With ``--record`` the ratios go into measured.json, and
from there into README.md and docs/explanation/speed.md.
"""

import sys
import warnings
from fnmatch import fnmatch

from benchmarks import (
    files,
    harness,
    large_files,
    learners,
    page,
    regression,
    remote,
    separation,
    serving,
    small_fits,
    strings,
    suspicion,
    text,
    tuning,
)  # fmt: skip

#: tables of their own
REPORTS = {
    "regression-files": large_files.main, "remote": remote.main, "serve": serving.main,
    "suspicion": suspicion.main,
}  # fmt: skip


def main() -> None:
    """Run the named races and reports, all of them without names."""
    groups = (learners, files, strings, regression, tuning, text, small_fits, separation)
    races = {name: race for group in groups for name, race in group.races().items()}
    asked = [word for word in sys.argv[1:] if word != "--record"] or ["*"]
    names = [name for name in races | REPORTS if any(fnmatch(name, word) for word in asked)]
    if unknown := [w for w in asked if not any(fnmatch(name, w) for name in races | REPORTS)]:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(races | REPORTS)}")
    rows = []
    warnings.simplefilter("ignore")  # peers that did not converge
    for name in names:
        if name in REPORTS:
            REPORTS[name]()
            continue
        rows.append({"name": name} | harness.run(races[name]()))
        harness.print_row(rows[-1])
    if rows:
        print(f"written to {harness.write_json(rows)}")
    if "--record" in sys.argv:
        page.record(rows)


if __name__ == "__main__":
    main()
