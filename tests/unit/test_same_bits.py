"""Models that are promised to be the same to the bit elsewhere are."""

import pytest
from campaign.same_bits import measured

from linsep.compiled.jit import COMPILING

pytestmark = [
    pytest.mark.both,
    pytest.mark.skipif(not COMPILING, reason="too slow without the compiler"),
]


@pytest.mark.thorough
def test_one_cpu_and_one_blas_thread_give_the_bits_of_several():
    usual = measured("usual", "Perceptron")
    assert len(usual) == 4 * 3 * 2
    assert len(set(usual.values())) > 4  # by keep
    assert measured("one CPU", "Perceptron") == usual
    assert measured("one BLAS thread", "Perceptron") == usual
