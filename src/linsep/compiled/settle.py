"""The update that a whole pass asked for, made at its end."""

from linsep.compiled.jit import compiled, generic
from linsep.compiled.keep import begin, nudge
from linsep.compiled.rows import U
from linsep.compiled.schemes import Binary, Native, OneVsOne, OneVsRest
from linsep.compiled.weights import Column, Pair, Vector


@compiled
def settle(scheme, keep, W, bias, sums, amounts, now):
    """Add ``amounts[m]`` times ``sums`` to the weights of each machine m whose amount is not 0.

    Parameters
    ----------
    scheme, keep : as for :func:`linsep.compiled.walk.walk`
    W, sums : arrays of the shape of the weights
    amounts : float64, one a machine
    now : how many updates could have been made before
    """
    settled(scheme, keep, W, bias, sums, amounts, now)


@generic(0)
def settled(scheme, keep, W, bias, sums, amounts, now):
    """What :func:`settle` does for the machines of this scheme."""


@settled.when(Binary)
def _binary_settled(scheme, keep, W, bias, sums, amounts, now):
    weights = Vector(W, bias, keep, now)
    begin(weights)
    for j in range(U(W.shape[0])):
        nudge(weights, j, amounts[0] * sums[j])


def _columns_settled(scheme, keep, W, bias, sums, amounts, now):
    for k in range(amounts.size):
        if amounts[k] != 0.0:
            weights = Column(W, k, bias, keep, now)
            begin(weights)
            for j in range(U(W.shape[0])):
                nudge(weights, j, amounts[k] * sums[j, k])


settled.when(OneVsRest)(_columns_settled)
settled.when(OneVsOne)(_columns_settled)


@settled.when(Native)
def _native_settled(scheme, keep, W, bias, sums, amounts, now):
    begin(Pair(W, U(0), U(0), bias, keep, now))
    for k in range(scheme.classes):
        weights = Column(W, k, bias, keep, now)
        for j in range(U(W.shape[0])):
            nudge(weights, j, amounts[0] * sums[j, k])
