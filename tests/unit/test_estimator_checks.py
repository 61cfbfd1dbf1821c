"""scikit-learn's own checks of each estimator, also in one other configuration."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from estimator_configurations import (
    GRIDS,
    REASONS,
    REASONS_OF_LUCK,
    built,
    configurations,
    expected,
    failures,
)
from linsep import KernelSoftMargin, Perceptron
from linsep.catalog import LEARNERS
from linsep.parameters import parameters_of

#: those whose base classes the others share, first
CHECKED = [Perceptron, *(kind for kind in LEARNERS.values() if kind is not Perceptron)]
MODELS = [*(kind(max_iter=30) for kind in CHECKED), KernelSoftMargin(gamma=0.5)]


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:All rows of class.* have weight 0")
@pytest.mark.parametrize("model", [MODELS[0], *(
    pytest.param(model, marks=pytest.mark.thorough) for model in MODELS[1:]
)])  # fmt: skip
def test_check_estimator(model):
    fails = {} if isinstance(model, KernelSoftMargin) else expected(model)
    assert failures(model, fails) == []


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize(("name", "given"), [
    ("Perceptron", {"fit_intercept": False}),
    ("Perceptron", {"shuffle": False, "tie": "positive"}),
])  # fmt: skip
def test_what_fails_is_what_has_a_reason(name, given):
    estimator = built(name, given)
    found = {failure.partition(":")[0] for failure in failures(estimator, {})}
    assert expected(estimator).keys() <= found
    assert found <= expected(estimator).keys() | REASONS_OF_LUCK.keys()


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "given"), [
    (name, given) for name in GRIDS for given in [*configurations(name)][5:6]
])  # fmt: skip
def test_configurations(name, given):
    estimator = built(name, given)
    assert failures(estimator, expected(estimator) | REASONS_OF_LUCK) == []


def test_reasons_are_of_checks_that_there_are():
    asked = {
        getattr(check, "func", check).__name__
        for _, check in estimator_checks_generator(Perceptron())
    }
    named = {check for _, checks, _ in REASONS for check in checks} | REASONS_OF_LUCK.keys()
    assert named <= asked


def test_configurations_have_every_value_and_every_two():
    for name in GRIDS:
        grid, every = GRIDS[name], configurations(name)
        model = built(name, {})
        assert set(grid) == set(model.get_params()) - {"max_iter"}
        for name_of_one, spec in parameters_of(type(model)).items():
            values = grid.get(name_of_one, [])
            assert all(spec.accepts(value) for value in values)
            # is "poly", and needs initial weights, clusters, or counts
            elsewhere = {"polynomial", "correct", "CR1", "estimated"}
            assert not values or set(spec.choices) - elsewhere <= set(values)
        seen = [{p: grid[p].index(one.get(p, grid[p][0])) for p in grid} for one in every]
        for parameter, values in grid.items():
            assert {one[parameter] for one in seen} == set(range(len(values)))
        every_two = ("multiclass", "keep") if "keep" in grid else ("solver", "class_weight")
        found = {tuple(one[parameter] for parameter in every_two) for one in seen}
        assert len(found) == len(grid[every_two[0]]) * len(grid[every_two[1]])
