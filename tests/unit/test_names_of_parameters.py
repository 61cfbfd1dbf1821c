"""Parameters that other programs name otherwise, in Python."""

import inspect

import pytest
from sklearn.base import clone

from linsep import KernelPerceptron, LogisticRegression, Perceptron


@pytest.mark.parametrize(
    ("estimator", "given", "said"),
    [
        (Perceptron, {"alpha": 1}, "no parameter 'alpha': the penalty on weights is l2 of "),
        (Perceptron, {"eta0": 1}, "no parameter 'eta0': set the learning rate with learning_rate."),
        (Perceptron, {"seed": 1}, "no parameter 'seed': set the seed with random_state."),
        (
            Perceptron,
            {"epochs": 1},
            "no parameter 'epochs': set the number of passes with max_iter.",
        ),
        (LogisticRegression, {"C": 1.0}, "no parameter 'C': give 1/C as l2 of a logistic regr"),
        (KernelPerceptron, {"max_itr": 1}, "no parameter 'max_itr': did you mean max_iter?"),
        (KernelPerceptron, {"zzz": 1, "max_iter": 2}, "no parameter 'zzz'."),
    ],
)
def test_unknown_parameters_lead_to_ours(estimator, given, said):
    with pytest.raises(TypeError) as error:
        estimator(**given)
    assert f"{estimator.__name__} has {said}" in f"{error.value}"


def test_signatures_stay():
    assert "max_iter: int = 1000" in str(inspect.signature(Perceptron))
    assert clone(Perceptron(max_iter=3)).max_iter == 3
    with pytest.raises(TypeError, match="positional"):
        Perceptron(3)
