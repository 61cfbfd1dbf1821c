"""scikit-learn's checks of the online estimators, in one configuration of parameters after another.

They are about how estimators behave, whether or not loops are compiled: a process without the
compiler runs them, since each configuration would have loops of its own compiled.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def checked(count: int) -> Counter:
    """Run all checks of ``count`` configurations, as many of each estimator as there are."""
    found = Counter(cases=0)
    command = [sys.executable, "-m", "campaign.estimators", str(count)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            found["cases" if line.startswith("checked ") else "wrong"] += 1
            if not line.startswith("checked "):
                print(f"  {line}", end="", flush=True)
    found["crashes"] += process.returncode != 0
    return +found


def main(count: int) -> None:
    """Print a line for each configuration that was checked and each check that failed."""
    from estimator_configurations import (
        REASONS_OF_LUCK,
        built,
        expected,
        failures,
        in_turn,
    )  # fmt: skip

    for name, given in in_turn()[:count]:
        estimator = built(name, given)
        for failure in failures(estimator, expected(estimator) | REASONS_OF_LUCK):
            print(f"{name} {given}: {' '.join(failure.split())}", flush=True)
        print(f"checked {name} {given}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
