"""Whatever a proof claims, its check takes little time and memory: claims are compared first."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linsep import Perceptron, check, separation
from linsep.certificate.cycles import Cycles
from linsep.certificate.verdicts import Verdict
from proof_edits import edited, places, value_at, written

pytestmark = pytest.mark.thorough

X = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]])
Y = [1, 0, 0, 1]
HALF, OF_HALF = np.vstack([X, [[2, 0]]]), [0, 0, 1, 1, 1]
MANY, OF_MANY = np.vstack([X, 2 * X]), [0, 0, 1, 1, 2, 2, 1, 0]
FORGED = [10**8, 2**53 - 1, 2**70, 10**300, -1, 0.5, 1e308, "9" * 50, "0x" + "f" * 20_000, None]
#: seconds of exact arithmetic allowed, seconds of the processor that a check may take, megabytes
LIMIT, PATIENCE, MOST_MB = 2, 10, 500


def proofs():
    """A proof of every kind, with its rows and labels."""
    runs = {"shuffle": False, "max_iter": 200}
    cycle = Perceptron(**runs).fit(X, Y).cycle_
    joint = Perceptron(multiclass="native", **runs).fit(MANY, OF_MANY).cycle_
    several = Perceptron(multiclass="ovr", **runs).fit(MANY, OF_MANY).cycle_
    return {
        "separable": (separation(X, [0, 0, 1, 1], margin="max"), X, [0, 0, 1, 1]),
        "overlapping": (separation(X, Y), X, Y),
        "quasi-separable": (separation(HALF, OF_HALF), HALF, OF_HALF),
        "several": (separation(MANY, OF_MANY).multinomial, MANY, OF_MANY),
        "gram": (separation(K=(X @ X.T).astype(int), y=Y), X @ X.T, Y),
        "cycle": (cycle, X, Y),
        "joint": (joint, MANY, OF_MANY),
        "cycles": (several, MANY, OF_MANY),
    }


def forgeries(claim):
    """The proof with every number changed to each of the forged values, and with long lists."""
    whole = json.loads(claim.to_json())
    for path in places(whole):
        was = value_at(whole, path) if path else None
        if not path or isinstance(was, dict | list) or path[-1] in {2, 3, 4, 5, 6, 7, 8}:
            continue  # of lists the first two
        for new in FORGED:
            yield written(edited(whole, path, lambda at, key, new=new: at.__setitem__(key, new)))
    if "data" in whole:
        labels = list(range(20_000))
        for names in (None, [""]):
            data = whole["data"] | {"classes": labels, "features": 10**8, "names": names}
            yield written(whole | {"data": data})
            yield written(whole | {"data": whole["data"] | {"classes": labels}})
    else:
        cycle = whole["cycle"] if "cycle" in whole else whole["cycles"][0]
        some = [cycle | {"base": b, "power": p} for p in range(257) for b in (2, 10)]
        yield written({"format": whole["format"], "cycles": some * 2})


#: reads [proof, rows, labels] line by line; prints seconds, megabytes and what is said of each
CHILD = """
import json, re, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (16_000_000_000,) * 2)
{prepare}
for line in open(sys.argv[1]):
    text, X, y = json.loads(line)
    began = time.process_time()
    said = judge(text, X, y)
    status = open("/proc/self/status").read()  # ru_maxrss is at least that of who started this
    peak = int(re.search(r"VmHWM:[^0-9]*([0-9]+)", status)[1]) // 1000
    print(json.dumps([time.process_time() - began, peak, said]), flush=True)
"""
LIBRARY = f"""
import numpy as np
from linsep import from_json
from linsep.errors import DataError
def judge(text, X, y):
    try:
        claim = from_json(text)
    except DataError:
        return None
    claim.lines()
    return claim.verify(np.array(X), y, time_limit={LIMIT}).holds
"""
ALONE = f"""
sys.path.insert(0, {str(Path(check.__file__).parent)!r})
import check
def judge(text, X, y):
    rows = [dict(enumerate(row)) for row in X]
    try:
        return bool(check.check(text, rows, y, None, len(X[0])))
    except check.WRONG:
        return False
"""


@pytest.mark.skipif(os.name == "nt", reason="needs resource")
@pytest.mark.parametrize("prepare", [LIBRARY, ALONE], ids=["verify", "linsep.check"])
def test_every_field_is_compared_before_it_is_expanded(tmp_path, prepare):
    given = proofs()
    if prepare is ALONE:  # it does not check cycles
        given = {name: one for name, one in given.items() if isinstance(one[0], Verdict)}
    texts = [
        [text, np.asarray(rows).tolist(), labels]
        for claim, rows, labels in given.values()
        for text in (claim.to_json(), *forgeries(claim))
    ]
    (tmp_path / "texts").write_text("\n".join(map(json.dumps, texts)) + "\n")
    script = CHILD.format(prepare=prepare)
    command = [sys.executable, "-c", script, str(tmp_path / "texts")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (texts[len(found)][0][:2000], done.stderr[-2000:])
    assert len(found) == len(texts)
    assert max(seconds for seconds, _, _ in found) < PATIENCE
    assert max(peak for _, peak, _ in found) < MOST_MB
    held = sum(said is True for _, _, said in found)
    assert len(given) <= held < len(found) / 5


def test_cycles_share_one_time_limit():
    cycle = Perceptron(shuffle=False, max_iter=50).fit(X, Y).cycle_
    many = Cycles((cycle,) * 2000)
    assert many.verify(X, Y)
    assert "time limit" in many.verify(X, Y, time_limit=1e-9).reason
