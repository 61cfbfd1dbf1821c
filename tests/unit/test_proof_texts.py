"""Any text is a proof or refused in one sentence: read, checked and printed without tracebacks."""

import copy
import json
import os
import random

import numpy as np
import pytest

from command_line import here
from linsep import Perceptron, from_json, separation
from linsep.errors import DataError
from proof_edits import places, value_at
from stopwatch import Stopwatch
from thoroughness import some

pytestmark = pytest.mark.compiled

X = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]])
Y = [1, 0, 0, 1]
MANY = np.vstack([X, 2 * X])
DATA = ((X, Y), (X, [0, 0, 1, 1]), (MANY, [0, 0, 1, 1, 2, 2, 1, 0]))
ODD = [
    None, True, False, 0, 1, -1, 2**70, -(2**70), 10**400, 1e308, float("nan"), float("inf"), 1.0,
    -0.0, "", "0x0", "0x1", "-0x1", "a", "\ud800", "0x" + "f" * 300_000, [], {}, [[]], [None],
    [0, 1], [0, 0, 0], {"a": 1}, {"0": "0x1"}, {"0": {"0": "0x1"}}, "0x" + "f" * 5_000,
]  # fmt: skip


def texts():
    """Proofs of every kind."""
    separable = separation(X, [0, 0, 1, 1], margin="max")
    half = separation(np.vstack([X, [[2, 0]]]), [0, 0, 1, 1, 1])
    cycle = Perceptron(shuffle=False, max_iter=50).fit(X, Y).cycle_
    claims = (separation(X, Y), separable, half, separation(*DATA[2]), separation(K=X @ X.T, y=Y))
    return [claim.to_json() for claim in (*claims, cycle)]


def changed(text, draw):
    """The text with values replaced, added or taken away, or with a few characters changed."""
    if draw.random() < 0.25:
        letters = list(text)
        for _ in range(draw.choice([1, 2, 5])):
            at = draw.randrange(len(letters))
            letters[at : at + draw.choice([0, 1, 3])] = draw.choice('0 \n\t"[{},:é\U0001f600\ud800')
        return "".join(letters)
    plain = json.loads(text)
    for _ in range(draw.choice([1, 1, 2, 3])):
        path = draw.choice([path for path in places(plain) if path])
        around, odd = value_at(plain, path[:-1]), copy.deepcopy(draw.choice(ODD))
        hint = draw.random()
        if hint < 0.15:
            del around[path[-1]]
        elif hint < 0.3:
            around.insert(0, odd) if isinstance(around, list) else around.update(new=odd)
        else:
            around[path[-1]] = odd
    return json.dumps(plain, indent=1) + "\n"


@pytest.mark.parametrize("seed", some(range(4)))
def test_no_text_makes_a_traceback(seed):
    draw, proofs, read = random.Random(seed), texts(), 0
    for _ in range(250):
        text = changed(draw.choice(proofs), draw)
        for form in (text, text.encode("utf-8", "surrogatepass")):
            watch = Stopwatch()
            try:
                claim = from_json(form)
            except DataError:
                continue
            read += 1
            for rows, labels in DATA:
                assert claim.verify(rows, labels).reason
            assert str(claim)
            assert repr(claim)
            assert claim.lines()
            assert watch.seconds() < 10
    assert read


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "1", "[" * 100_000, "{" * 100_000, "\0"])
def test_texts_that_are_nothing_are_refused(text):
    with pytest.raises(DataError) as refusal:
        from_json(text)
    assert "\n" not in str(refusal.value)


def test_what_is_no_file_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n2,1\n")
    proof = separation([[1], [2]], [0, 1]).to_json()
    (tmp_path / "proof.json").write_text(proof)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for files in (
        ("pipe", "rows.csv"),
        ("folder", "rows.csv"),
        ("none", "rows.csv"),
        ("/dev/null", "rows.csv"),
        ("proof.json", "pipe"),
        ("proof.json", "folder"),
        ("proof.json", "none"),
        ("proof.json", "/dev/zero"),
    ):
        done = here("verify", *files, "--target", "y", cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
