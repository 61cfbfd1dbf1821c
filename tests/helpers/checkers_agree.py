"""Verdicts and edited proofs, drawn at random: what both checkers and exact oracles say of them.

A case is a function of a random generator that returns what is wrong, None where nothing is. The
tests draw some hundred, ``make campaign`` many thousand.
"""

import json
from functools import cache

import numpy as np
import scipy.sparse as sp

from fourier_motzkin import kind_of
from linsep import check, from_json, separation
from linsep.errors import DataError
from proof_edits import HEX, WRONG, edited, nearby, parts, places, still_true, value_at, written

LABELS = (lambda k: k, lambda k: "abcd"[k], lambda k: 2.0 * k, lambda k: -k, lambda k: k > 0)
#: proofs that are edited, made when they are first asked for
MOST_PROOFS = 300
#: rows of so many columns for which elimination, the oracle of a verdict, takes no time
MOST_ROWS = {1: 12, 2: 12, 3: 8, 4: 6}


def drawn(rng):
    """Rows of some storage and labels of some kind, of two classes or more."""
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    K = min(n, int(rng.choice([2, 2, 2, 3, 4])))
    kind = rng.choice(["whole", "bits", "halves", "decimals", "normal", "sizes", "long"])
    X = rng.integers(-3, 4, (n, d))
    X = {
        "whole": X, "bits": X > 0, "halves": X / 4, "decimals": X / 10,
        "normal": rng.normal(size=(n, d)), "long": X + 2**60,
        "sizes": X * 10.0 ** rng.integers(-300, 300, (n, d)),
    }[kind]  # fmt: skip
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[rng.integers(n)]  # a row twice
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]  # a column twice
    codes = rng.permutation(np.append(np.arange(K), rng.integers(0, K, n - K)))
    y = np.array([LABELS[rng.integers(4 + (K == 2))](k) for k in range(K)])[codes]
    if len(set(y.tolist())) < 2 or rng.random() < 0.4:
        scores = X.astype(float) @ rng.normal(size=d)
        y = np.searchsorted(np.quantile(scores, np.linspace(0, 1, K + 1)[1:-1]), scores)
        y[:2] = 0, 1
    if kind != "bits" and rng.random() < 0.2:
        X = sp.csr_matrix(X)
    return X, y


def claimed(X, y, rng):
    """What linsep says of them, in one sense or in all."""
    return separation(
        X, y, fit_intercept=bool(rng.random() < 0.7), margin=rng.choice([None, "max"])
    )


def plain(X, y):
    """The same for :mod:`linsep.check`, which knows no numpy."""
    dense = X.toarray() if sp.issparse(X) else X
    return [dict(enumerate(row)) for row in dense.tolist()], y.tolist(), None, dense.shape[1]


def accepts(text, X, y):
    """Whether the library's checker holds a proof true."""
    try:
        return bool(from_json(text).verify(X, y))
    except DataError:
        return False


def accepts_alone(text, X, y):
    """Whether :mod:`linsep.check` does."""
    try:
        return bool(check.check(text, *plain(X, y)))
    except check.WRONG:
        return False


def agrees_with_oracle(verdict, X, y):
    """Whether the kind of a verdict on two sides is that which elimination finds."""
    subject = verdict.subject
    sides = [(label in subject.positive) - (label in subject.negative) for label in y.tolist()]
    dense = (X.toarray() if sp.issparse(X) else X).tolist()
    rows = [
        [side * check.Fraction(x) for x in [*row, *([1] if subject.fit_intercept else [])]]
        for row, side in zip(dense, sides, strict=True)
        if side
    ]
    if subject.multinomial or len(rows) > MOST_ROWS[len(dense[0])]:
        return None
    kind, bound = kind_of(rows)
    used = [i for i, side in enumerate(sides) if side]
    if verdict.kind != kind:
        return False
    return kind != "quasi-separable" or [used[i] for i in bound] == list(verdict.boundary)


def random_edit(plain, draw, others):
    """A copy with one part of a proof changed at random or replaced by a part of another proof."""
    path = draw.choice([path for path in places(plain) if path])
    was = value_at(plain, path)
    if draw.random() < 0.1:
        return edited(plain, path, lambda at, key: at.__delitem__(key))
    new = [*nearby(was), *WRONG]
    if others:
        same = [p for p in places(others) if p and p[-1] == path[-1]]
        new += [value_at(others, p) for p in same] * 5
    if type(was) in (int, float) and abs(was) < 1e300 and draw.random() < 0.5:
        new = [was + draw.choice([-2, -1, 1, 2]), was * draw.choice([0.5, 2, 1 - 2**-50])]
    if isinstance(was, str) and HEX.fullmatch(was) and draw.random() < 0.5:
        new = [hex(int(was, 16) + draw.choice([-2, -1, 1, 2]) * 16 ** draw.randrange(3))]
    to = draw.choice(new)
    return edited(plain, path, lambda at, key: at.__setitem__(key, to))


def verdict_case(draw):
    """Rows, drawn: their verdicts must hold for both checkers, and be what the oracle says."""
    X, y, claim = rows_and_claim(draw.getrandbits(64))
    text = claim.to_json()
    if not accepts(text, X, y) or not accepts_alone(text, X, y):
        return f"a proof that does not hold, of {X!r} {y!r}"
    wrong = [v for v in parts(claim) if agrees_with_oracle(v, X, y) is False]
    return f"the oracle says no to {wrong[0].kind} of {X!r} {y!r}" if wrong else None


def edit_case(draw):
    """A proof, edited: both checkers must agree, and accept nothing that is false."""
    X, y, every = rows_and_claim(draw.randrange(MOST_PROOFS))
    claim = draw.choice(parts(every)) if draw.random() < 0.5 else every
    plain_proof = json.loads(claim.to_json())
    others = None
    if draw.random() < 0.3:
        others = json.loads(rows_and_claim(draw.randrange(MOST_PROOFS))[2].to_json())
    one = random_edit(plain_proof, draw, others)
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        one = random_edit(one, draw, others)
    return judged(written(one), X, y, every)


def damage_case(draw):
    """The text of a proof with a few bytes changed: the same."""
    X, y, every = rows_and_claim(draw.randrange(MOST_PROOFS))
    text = bytearray(every.to_json().encode())
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(text) + 1)
        new = draw.choice([b"", bytes([draw.randrange(256)]), b"0", b"[", b"\n", text[:20]])
        text[at : at + draw.choice([0, 1, 8])] = new
    return judged(bytes(text), X, y, every)


def judged(text, X, y, every):
    """What is wrong with how the checkers judge an edited proof; None where nothing is."""
    held = accepts(text, X, y)
    plain_text = text if isinstance(text, str) else text.decode("ascii", "replace")
    if held != accepts_alone(plain_text, X, y):
        return f"the checkers disagree ({held}) on {text!r} of {X!r} {y!r}"
    dense = X.toarray() if sp.issparse(X) else X
    if held and not still_true(from_json(text), every, dense, y):
        return f"accepted, but false: {text!r} of {X!r} {y!r}"
    return None


@cache
def rows_and_claim(seed):
    """Rows, labels and what linsep says of them."""
    rng = np.random.default_rng(seed)
    while True:
        X, y = drawn(rng)
        claim = claimed(X, y, rng)
        if all(verdict.kind != "undecided" for verdict in parts(claim)):
            return X, y, claim
