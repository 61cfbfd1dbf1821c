"""``python -m campaign.same_bits [SETTING ...]``: which models depend on the environment.

For each setting, a process fits every learner with every ``keep`` on dense rows, CSR rows and a
file, and hashes the weights and the scores. Differences from the usual setting are printed.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from campaign.batches import Limits

#: changes of the environment by each setting; "one CPU" also pins the process
SETTINGS: dict[str, dict[str, str]] = {
    "usual": {},
    "one CPU": {},
    "one BLAS thread": {"OPENBLAS_NUM_THREADS": "1"},
    "another BLAS kernel": {"OPENBLAS_CORETYPE": "Nehalem"},
    "no compiler": {"NUMBA_DISABLE_JIT": "1"},
    "generic CPU": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}
PROMISED = ("one CPU", "one BLAS thread")
LEARNERS = ("Perceptron", "MarginPerceptron", "PassiveAggressive", "Winnow", "BalancedWinnow")
KEEPS = ("last", "average", "vote", "best")


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every learner with its parameters."""
    for name, keep in product(LEARNERS, KEEPS):
        yield name, {"keep": keep, "max_iter": 3}
    for kernel, keep in product(("linear", "poly", "rbf"), KEEPS[:3]):
        yield "KernelPerceptron", {"kernel": kernel, "keep": keep, "max_iter": 3}
    yield from ((name, {}) for name in ("LinearRegression", "LogisticRegression"))
    yield "GaussianNaiveBayes", {}


def hashes(learner: str | None = None) -> dict[str, str]:
    """Return hashes of one learner or all on 400 rows of 30 numbers, by case and storage."""
    import numpy as np
    import scipy.sparse as sp

    import linsep

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.5)
    y = X @ rng.normal(size=30) + rng.normal(size=400) > 0
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, parameters in cases():
            if learner not in {None, name}:
                continue
            rows = abs(X) if name == "Winnow" else X
            path = Path(folder) / "rows.svm"
            path.write_text("".join(_line(row, label) for row, label in zip(rows, y, strict=True)))
            case = " ".join([name, *map(str, parameters.values())])
            for storage in ("dense", "CSR", "file"):
                model = getattr(linsep, name)(**parameters)
                if storage == "file":
                    model.fit(linsep.open_source(path, index_base=1))
                else:
                    model.fit(sp.csr_matrix(rows) if storage == "CSR" else rows, y)
                found[f"{case}, {storage}, weights"] = _hash(_weights(model))
                scores = getattr(model, "decision_function", model.predict)(rows)
                found[f"{case}, {storage}, scores"] = _hash(scores)
    return found


def _line(row: Any, label: Any) -> str:
    pairs = (f"{k}:{value!r}" for k, value in enumerate(row.tolist(), 1))
    return f"{int(label)} {' '.join(pairs)}\n"


def _weights(model: Any) -> Any:
    for name in ("dual_coef_", "coef_", "means_", "theta_"):
        if getattr(model, name, None) is not None:
            return getattr(model, name)
    raise AttributeError(f"{model} has no weights")


def _hash(values: Any) -> str:
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def measured(setting: str, *learner: str) -> dict[str, str]:
    """Return the hashes of one learner or all, from a process with that setting."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "campaign.same_bits", "--child", setting, *learner],
        env=os.environ | SETTINGS[setting], capture_output=True, text=True, check=True,
    )  # fmt: skip
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def promised(limits: Limits) -> Counter:
    """Compare the first settings that are promised to change nothing with the usual one."""
    usual, found = measured("usual"), Counter(cases=0)
    for setting in PROMISED:
        other = measured(setting)
        for case in sorted(usual)[: limits.count - found["cases"]]:
            found["cases"] += 1
            if usual[case] != other[case]:
                found["wrong"] += 1
                print(f"  {setting}: {case}", flush=True)
    return found


def main(chosen: list[str]) -> int:
    """Print the differences from the usual setting."""
    usual = measured("usual")
    for setting in chosen or [name for name in SETTINGS if name != "usual"]:
        other = measured(setting)
        differing = [case for case in usual if usual[case] != other[case]]
        print(f"{setting}: {len(differing)} of {len(usual)} differ", *differing, sep="\n  ")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        if sys.argv[2] == "one CPU":
            os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        print(json.dumps(hashes(*sys.argv[3:])))
    else:
        sys.exit(main(sys.argv[1:]))
