"""Every part of every kind of proof, edited in every way: refused, or true for a listed reason."""

import json
from collections import Counter
from contextlib import suppress
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_iris

from checkers_agree import accepts_alone
from command_line import here
from linsep import Perceptron, from_json, separation
from linsep.errors import DataError
from proof_edits import REASONS, edits, why_true, written
from refusals import refused
from thoroughness import THOROUGH, examples

pytestmark = pytest.mark.compiled

IRIS = load_iris(return_X_y=True)
QUASI = np.array([[1.0, 2], [2, 0], [3, 1], [3, 1], [4, 1]]), np.array([0, 0, 0, 1, 1])
XOR = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]), np.array([1, 0, 0, 1])
LONG = np.array([[2**62 + 1], [2**62 + 3], [2**62 + 4]]), np.array([0, 0, 1])
THREE = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [2, 2], [2, 1]]), np.array([0, 0, 1, 1, 2, 2])
DATA = {
    "separable": (IRIS[0][:100:9], IRIS[1][:100:9]),
    "long weights": LONG,
    "quasi-separable": QUASI,
    "overlapping": XOR,
    "several": THREE,
}
TEXTS = {name: separation(*DATA[name]).to_json() for name in DATA}


@pytest.mark.parametrize("name", DATA)
def test_edited_verdicts_are_refused_or_true_for_a_listed_reason(name):
    X, y = DATA[name]
    verdict = separation(X, y, margin="max")
    assert from_json(verdict.to_json()) == verdict
    plain = json.loads(verdict.to_json())
    counts: Counter = Counter()
    step = (17 if name == "several" else 1) * (1 if THOROUGH else 3)  # of seven verdicts alike
    for path, one in islice(edits(plain), 0, None, step):
        try:
            claim = from_json(written(one))
        except DataError:
            assert not accepts_alone(written(one), X, y), (path, one)
            counts["no proof"] += 1
            continue
        check = claim.verify(X, y)
        assert bool(check) == accepts_alone(written(one), X, y), (path, one)
        if check:
            assert str(claim)
            reason = why_true(path, claim, verdict, X, y)
            assert reason in REASONS.values(), (path, one)
            counts["true"] += 1
        else:
            assert check.holds is False
            assert check.reason.startswith("It does not hold: ")
            assert check.reason.endswith(".")
            counts["does not hold"] += 1
        assert not claim.verify(X, y, exact=False)
    assert counts["no proof"] > 100
    assert counts["does not hold"] > 5
    assert counts["true"] < counts["does not hold"]


def test_names_are_those_of_the_data():
    frame = pd.DataFrame(QUASI[0], columns=["a", "b"])
    text = separation(frame, QUASI[1]).to_json()
    assert from_json(text).verify(frame, QUASI[1])
    renamed = from_json(text.replace('"a"', '"c"'))
    assert "other names" in renamed.verify(frame, QUASI[1]).reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rows": 5,', '"rows": 5, "rows": 5,'),  # a key given twice
        ('"rows": 5,', '"rows": 5.0,'),
        ('"rows": 5,', '"rows": 5,\n  "more": 1,'),
        ('"rows": 5,', '"rows":  5,'),
        ("   0,\n   1", "   0,\n   true"),
        ("   0,\n   1", "   0,\n   1.0"),
        ("   0,\n   1", "   0,\n   1,\n   1"),
        ("   0,\n   1", "   1,\n   0"),
        ('"recipe": null', '"recipe": {"a": NaN}'),
        ('"recipe": null', '"recipe": {"a": 1e999}'),
        ('"recipe": null', '"recipe": {"a": 1, "a": 1}'),
        ('"recipe": null', '"recipe": []'),
        ("}\n", "}"),
        ("}\n", "}\n\n"),
    ],
)
def test_there_is_one_form_only(old, new):
    text = separation(*QUASI).to_json()
    assert old in text
    with refused(DataError, "bad-proof"):
        from_json(text.replace(old, new, 1) if old != "}\n" else text.removesuffix(old) + new)


def test_proofs_of_earlier_formats_are_refused_in_a_sentence():
    X, y = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]), [1, -1, -1, 1]
    cycle = Perceptron(shuffle=False).fit(X, y).cycle_
    for text in (TEXTS["quasi-separable"], cycle.to_json()):
        with refused(DataError, "other-version"):
            from_json(text.replace("linsep proof 3", "linsep proof 2"))
        with refused(DataError, "other-version"):
            from_json(text.replace("linsep proof 3", "linsep proof 4"))


def test_verdicts_given_twice_or_left_out_are_refused():
    plain = json.loads(separation(*THREE).to_json())
    found = plain["verdicts"]
    assert len(from_json(written(plain)).verdicts()) == 7
    others = [found[1:], found[:-1], [*found, found[-1]], found[::-1], [found[0], *found], []]
    others += [[found[1], found[0], *found[2:]], [found[0]] * 7]
    for verdicts in others:
        with refused(DataError, "bad-proof"):
            from_json(written(plain | {"verdicts": verdicts}))
    for formulations in ([], ["ovr"], ["ovo", "ovr", "multinomial"], ["ovr", "ovr"], ["all"], None):
        with refused(DataError, "bad-proof"):
            from_json(written(plain | {"formulations": formulations}))


def test_verdicts_about_different_data_do_not_hold_together():
    every, other = separation(*THREE), separation(THREE[0] + 1, THREE[1])
    every.pairs[0, 1] = other.pairs[0, 1]
    assert "different data" in every.verify(*THREE).reason


@examples(150)
@given(st.data())
def test_damaged_text_is_one_clear_error_or_does_not_hold(data):
    X, y = QUASI
    text = bytearray(TEXTS["quasi-separable"].encode())
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text) - 3))]
    else:
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    with suppress(DataError):
        assert from_json(bytes(text)).verify(X, y).reason


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["0x1", "-0x1", "0x0", "separable", "overlapping", "undecided"]),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=3),
    max_leaves=6,
)  # fmt: skip


@examples(200)
@given(st.sampled_from(["overlapping", "quasi-separable", "several"]), st.data())
def test_any_json_in_any_place_is_no_traceback(name, data):
    X, y = DATA[name]
    plain = json.loads(TEXTS[name])
    at, key = plain, None
    while isinstance(at, dict | list) and at and (key is None or data.draw(st.booleans())):
        inside, key = (
            at,
            data.draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at)))),
        )
        at = at[key]
    inside[key] = data.draw(values)
    with suppress(DataError):
        claim = from_json(written(plain))
        assert str(claim)
        assert claim.verify(X, y).reason


def test_edited_cycles_are_refused_or_true():
    X, y = XOR
    cycle = Perceptron(fit_intercept=False, shuffle=False).fit(X, y).cycle_
    assert cycle.verify(X, y)
    refused = 0
    for _, one in edits(json.loads(cycle.to_json())):
        try:
            claim = from_json(json.dumps(one))
        except DataError:
            refused += 1
            continue
        check = claim.verify(X, y)
        if not check:
            assert check.reason.startswith("It does not hold: ")
            refused += 1
        else:  # other numbers of the passes, or multiples of the weights, cycle as well
            assert claim.again > claim.first
    assert refused > 100


def test_deep_nesting_and_long_decimals_are_one_sentence():
    for text in ("[" * 100_000, '{"format": ' * 5_000, "1" * 5_000, b"\xff\xfe", b"", "null", "[]"):
        with pytest.raises(DataError) as refusal:
            from_json(text)
        assert str(refusal.value).count("\n") == 0


def test_the_command_line_tells_refusals_from_errors(tmp_path):
    lines = ["a,b,label", *(f"{a},{b},{t}" for (a, b), t in zip(*XOR, strict=True))]
    (tmp_path / "xor.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "other.csv").write_text("\n".join([*lines[:-1], "-1,-1,0"]) + "\n")
    proof, data = str(tmp_path / "proof.json"), str(tmp_path / "xor.csv")
    target = ("--target", "label")
    assert here("separate", data, *target, "--proof", proof, cwd=tmp_path).returncode == 0
    assert here("verify", proof, data, *target, cwd=tmp_path).returncode == 0
    other = here("verify", proof, str(tmp_path / "other.csv"), *target, cwd=tmp_path)
    assert other.returncode == 1
    assert "does not hold" in other.stdout + other.stderr
    text = (tmp_path / "proof.json").read_text()
    for bad in (text[:-20], text.replace("overlapping", "separable"), "", "[[[", "1" * 5_000):
        (tmp_path / "bad.json").write_text(bad)
        result = here("verify", str(tmp_path / "bad.json"), data, *target, cwd=tmp_path)
        assert result.returncode not in (0,), bad
        assert "Traceback" not in result.stderr
    assert here("verify", str(tmp_path / "none.json"), data, cwd=tmp_path).returncode == 1
