"""The learners say of themselves what commands, pages, traces and proofs have to know."""

import inspect

import pytest

import linsep
from linsep import textbook
from linsep.catalog import ESTIMATORS, LEARNERS, LINEAR, REGRESSIONS, is_scaled
from linsep.parameters import parameters_of


def test_learners_are_public_and_have_names_of_their_own():
    assert all(getattr(linsep, kind.__name__) is kind for kind in LEARNERS.values())
    assert list(LEARNERS) == [kind.command_name for kind in LEARNERS.values()]
    assert not LEARNERS.keys() & REGRESSIONS.keys()


def test_what_takes_no_negative_values_is_not_centered():
    assert {name for name in ESTIMATORS if not is_scaled(name)} == {
        n for n, kind in LEARNERS.items() if kind.positive_only
    } | set(REGRESSIONS)


@pytest.mark.parametrize("name", LINEAR)
def test_a_twin_is_a_public_rule_with_the_same_parameters(name):
    kind, twin = LINEAR[name], LINEAR[name]().twin()
    assert isinstance(twin, textbook.Rule)
    assert getattr(textbook, type(twin).__name__) is type(twin)
    shared = inspect.signature(type(twin)).parameters.keys() & parameters_of(kind).keys()
    assert shared
    for one in shared:  # None is a value that depends on others
        assert getattr(kind(), one) in (None, getattr(twin, one))


def test_a_page_turns_parameters_that_the_learner_has():
    for name in LEARNERS:
        kind = LEARNERS[name]
        shown = [one.name for one in kind.demonstrations]
        assert len(shown) == len(set(shown)) >= 1
        for one in kind.demonstrations:
            turned = {control.parameter for control in one.controls} | one.fixed.keys()
            assert turned <= set(parameters_of(kind))
