"""scikit-learn's checks of the classifiers, for many configurations of parameters.

They run in a process without the compiler, since each configuration would compile loops of its
own, which the checks do not need.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from campaign.batches import Limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))


def checked(limits: Limits) -> Counter:
    """Run all checks of the first configurations: single parameters first, then pairs."""
    found = Counter(cases=0)
    command = [sys.executable, "-m", "campaign.estimators", str(limits.count)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while not limits.over():
            process.stdin.write("next\n")
            process.stdin.flush()
            while (line := process.stdout.readline()).startswith("wrong "):
                found["wrong"] += 1
                print(f"  {line.removeprefix('wrong ')}", end="", flush=True)
            if not line.startswith("checked"):
                break
            found["cases"] += 1
        process.stdin.close()
    found["crashes"] += process.returncode != 0
    return found


def main(count: int) -> None:
    """Check a configuration for each line of input, and print what is wrong."""
    from estimator_configurations import (
        REASONS_OF_LUCK,
        built,
        expected,
        failures,
        in_turn,
    )  # fmt: skip

    left = in_turn()[:count]
    for _ in sys.stdin:
        if not left:
            print("end", flush=True)
            return
        name, given = left.pop(0)
        estimator = built(name, given)
        for failure in failures(estimator, expected(estimator) | REASONS_OF_LUCK):
            print(f"wrong {name} {given}: {' '.join(failure.split())}", flush=True)
        print("checked", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
