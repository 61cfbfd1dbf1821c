"""Verdicts and edited proofs, drawn at random: what both checkers and exact oracles say of them.

The tests draw some hundred, ``python -m campaign.checker`` as many as one likes.
"""

import json
import random
from collections import Counter

import numpy as np
import scipy.sparse as sp

from fourier_motzkin import kind_of
from linsep import check, from_json, separation
from linsep.errors import DataError
from proof_edits import WRONG, edited, nearby, parts, places, still_true, value_at, written

LABELS = (lambda k: k, lambda k: "abcd"[k], lambda k: k / 2, lambda k: -k, lambda k: k > 0)
#: most steps of an elimination that is the oracle of a verdict
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
    same = kind != "quasi-separable" or [used[i] for i in bound] == list(verdict.boundary)
    return verdict.kind == kind and same


def random_edit(plain, rng, others):
    """One part of a proof, changed at random or replaced by a part of another proof."""
    path = rng.choice([path for path in places(plain) if path])
    was = value_at(plain, path)
    if rng.random() < 0.1:
        return path, edited(plain, path, lambda at, key: at.__delitem__(key))
    new = [*nearby(was), *WRONG]
    if others:
        same = [p for p in places(others) if p and p[-1] == path[-1]]
        new += [value_at(others, p) for p in same] * 5
    if type(was) in (int, float) and rng.random() < 0.5:
        new = [was + rng.choice([-2, -1, 1, 2]), was * rng.choice([0.5, 2, 1 - 2**-50])]
    if isinstance(was, str) and was.startswith(("0x", "-0x")) and rng.random() < 0.5:
        new = [hex(int(was, 16) + rng.choice([-2, -1, 1, 2]) * 16 ** rng.randrange(3))]
    to = rng.choice(new)
    return path, edited(plain, path, lambda at, key: at.__setitem__(key, to))


def verdicts(count, seed=0):
    """Draw so many verdicts: all must hold for both checkers, and be what the oracle says."""
    counts: Counter = Counter()
    rng = np.random.default_rng(seed)
    while counts["verdicts"] < count:
        X, y = drawn(rng)
        claim = claimed(X, y, rng)
        if any(verdict.kind == "undecided" for verdict in parts(claim)):
            counts["undecided"] += 1
            continue
        text = claim.to_json()
        assert accepts(text, X, y), (X, y)
        assert accepts_alone(text, X, y), (X, y)
        for verdict in parts(claim):
            said = agrees_with_oracle(verdict, X, y)
            assert said is not False, (X, y)
            counts["verdicts"] += 1
            counts["compared with the oracle"] += said is True
            counts[verdict.kind] += 1
    return counts


def edited_proofs(count, seed=0):
    """Edit proofs so many times: both checkers must agree, and accept nothing that is false."""
    counts: Counter = Counter()
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    before = None
    while counts["edited proofs"] < count:
        X, y = drawn(rng)
        every = claimed(X, y, rng)
        if any(verdict.kind == "undecided" for verdict in parts(every)):
            continue
        claim = choose.choice(parts(every)) if choose.random() < 0.5 else every
        plain_proof = json.loads(claim.to_json())
        for _ in range(40):
            path, one = random_edit(plain_proof, choose, before if choose.random() < 0.3 else None)
            if choose.random() < 0.2:
                path, one = random_edit(one, choose, None)
            text = written(one)
            held = accepts(text, X, y)
            assert held == accepts_alone(text, X, y), (X, y, path, text)
            counts["edited proofs"] += 1
            counts["accepted"] += held
            if held and one != plain_proof:
                dense = X.toarray() if sp.issparse(X) else X
                assert still_true(from_json(text), every, dense, y), (X, y, path, text)
                counts["accepted though edited, and true"] += 1
        before = plain_proof
    return counts
