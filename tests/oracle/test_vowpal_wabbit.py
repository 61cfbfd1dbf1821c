"""Online logistic regression beside Vowpal Wabbit, where it is installed (the extra ``bench``).

Features are -1 or 1, so that scales never grow: Vowpal Wabbit predicts before it rescales weights.
Its weights are float32.
"""

import numpy as np
import pytest

from linsep import OnlineLogistic

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ("", {}),
        ("--sgd --adaptive --invariant", {"rescale": False}),
        ("--sgd --adaptive", {"rescale": False, "invariant": False}),
        ("--sgd --invariant --power_t 0", {"rescale": False, "adaptive": False}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("passes", [1, 5])
def test_the_weights_are_vowpal_wabbits(options, how, weighted, passes):
    vowpal = pytest.importorskip("vowpalwabbit")
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 6))
    y = X @ rng.normal(size=6) + rng.logistic(size=200) > 0
    weights = rng.integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    theirs = vowpal.Workspace(
        f"--loss_function logistic -l 0.5 -b 10 --noconstant --quiet {options}"
    )
    for row, label, weight in passes * list(zip(X, y, weights, strict=True)):
        features = " ".join(f"{j}:{x}" for j, x in enumerate(row))
        theirs.learn(f"{1 if label else -1} {weight} | {features}")
    found = [theirs.get_weight(j) for j in range(6)]
    theirs.finish()
    ours = OnlineLogistic(keep="last", max_iter=passes, shuffle=False, fit_intercept=False, **how)
    ours.fit(X, y, sample_weight=weights if weighted else None)
    np.testing.assert_allclose(ours.coef_[0], found, rtol=1e-3, atol=1e-5)
