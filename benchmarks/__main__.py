"""``python -m benchmarks [--record] [NAME ...]``: run races, print their table, write JSON.

With ``--record`` the ratios go into measured.json, and from there into README.md and
docs/explanation/speed.md.
"""

import sys

from benchmarks import (
    accuracy,
    cluster,
    early_stopping,
    files,
    harness,
    in_memory,
    large_files,
    learners,
    logistic,
    mistakes,
    mixing,
    mnist_kernels,
    newsgroups,
    page,
    peers,
    promoters,
    regression,
    remote,
    separation,
    serving,
    small_fits,
    soft_margin,
    startup,
    strings,
    suspicion,
    tables,
    text,
    tuning,
    which_learner,
)  # fmt: skip

REPORTS = {
    "startup": startup.main,
    "accuracy": accuracy.main,
    "cluster": cluster.main,
    "early-stopping": early_stopping.main,
    "mistakes": mistakes.main,
    "mixing": mixing.main,
    "mnist-kernels": mnist_kernels.main,
    "mnist-kernels-svc": mnist_kernels.compared,
    "newsgroups": newsgroups.main,
    "peers": peers.main,
    "newsgroups-one-pass": newsgroups.arow,
    "promoters": promoters.main,
    "nist": regression.nist,
    "regression-files": large_files.main,
    "remote": remote.main,
    "separation": separation.main,
    "serve": serving.main,
    "small-fits": small_fits.main,
    "soft-margin": soft_margin.main,
    "soft-margin-tables": soft_margin.tables,
    "suspicion": suspicion.main,
    "tables": tables.main,
    "text-choices": text.choices,
    "which-learner": which_learner.main,
}


def main() -> None:
    """Run the named races and reports, all of them without names."""
    groups = (in_memory, files, learners, strings, regression, logistic, tuning, text)
    races = {name: race for group in groups for name, race in group.races().items()}
    recorded = "--record" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "--record"] or [*races, *REPORTS]
    if unknown := [name for name in names if name not in races | REPORTS]:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {' '.join(races | REPORTS)}")
    rows = []
    for name in names:
        if name in races:
            print(f"running {name} ...", file=sys.stderr)
            rows.append({"name": name} | harness.run(races[name]()))
    if rows:
        harness.print_table(rows)
    for name in names:
        if name in REPORTS:
            rows += REPORTS[name]() or []
    if rows:
        print(f"written to {harness.write_json(rows)}")
    if recorded:
        page.record(rows)


if __name__ == "__main__":
    main()
