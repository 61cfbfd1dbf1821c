"""Newton's method for a logistic regression of two classes in FLINT's balls."""

from flint import arb, arb_mat, ctx

BITS = 600


def exact_maximum(X, y):
    """Log-likelihood, weights and standard errors of two classes, the intercept last."""
    with ctx.workprec(BITS):
        Z = [[arb(float(x)) for x in row] + [arb(1)] for row in X]
        d = len(Z[0])
        w = [arb(0)] * d
        value, slope, H = known(Z, y, w)
        for _ in range(400):
            step = arb_mat(d, d, H).solve(arb_mat(d, 1, slope))
            gain = sum((slope[j] * step[j, 0] for j in range(d)), arb(0))
            if float(gain) < 1e-60:
                errors = arb_mat(d, d, H).inv()
                roots = [float(errors[j, j].sqrt()) for j in range(d)]
                return float(value), [float(x) for x in w], roots
            share, moved = arb(1), None
            while moved is None or known(Z, y, moved)[0].mid() < value.mid():
                moved = [(a + share * step[j, 0]).mid() for j, a in enumerate(w)]
                share = share / 2
            w = moved
            value, slope, H = known(Z, y, w)
    raise AssertionError("no maximum")


def known(Z, y, w):
    """Log-likelihood, gradient and information."""
    d, value = len(w), arb(0)
    slope, H = [arb(0)] * d, [arb(0)] * (d * d)
    for z, label in zip(Z, y, strict=True):
        score = sum((a * b for a, b in zip(z, w, strict=True)), arb(0))
        p = 1 / (1 + (-score).exp())
        value += (p if label else 1 - p).log()
        for i in range(d):
            slope[i] += z[i] * (int(label) - p)
            for j in range(d):
                H[i * d + j] += p * (1 - p) * z[i] * z[j]
    return value, slope, H
