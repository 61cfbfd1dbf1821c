"""Models on disk come back whole, to the bit, or not at all; mapped ones learn on."""

import copy
import hashlib
import json
import os
import pickle
import struct
import sys
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
from safetensors.numpy import save as to_bytes, save_file

import linsep
from linsep import (
    GaussianNaiveBayes,
    KernelPerceptron,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    kernels,
    model_files,
)
from linsep._system.sealed import unsealed
from linsep.errors import ModelFileError
from refusals import refused

X = np.random.default_rng(0).integers(-4, 5, (60, 5)).astype(float)
CODES = (X @ np.random.default_rng(1).standard_normal((5, 3))).argmax(axis=1)
LABELS = {
    "text": np.array(["a", "beta", "ü"])[CODES],
    "object": np.array(["a", "beta", "c"], dtype=object)[CODES],
    "int": np.array([-7, 2, 2**60])[CODES],
    "float": np.array([-0.0, 1.0, 3.0])[CODES],
    "bool": CODES > 0,
}


def back(model, path):
    linsep.save(model, path)
    return linsep.load(path)


@pytest.mark.parametrize(
    ("labels", "multiclass"), list(zip(LABELS, ["native", "ovr", "ovo"] * 2, strict=False))
)
def test_a_model_comes_back_to_the_bit(tmp_path, labels, multiclass):
    y = LABELS[labels]
    model = Perceptron(multiclass=multiclass, max_iter=5, tie="positive").fit(X, y)
    copy = back(model, tmp_path / "m.linsep")
    assert np.array_equal(copy.decision_function(X), model.decision_function(X))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.classes_.dtype == model.classes_.dtype
    assert copy.get_params() == model.get_params()
    assert (copy.n_updates_, copy.n_iter_, copy.stop_reason_, copy.progressive_accuracy_) == (
        model.n_updates_, model.n_iter_, model.stop_reason_, model.progressive_accuracy_,
    )  # fmt: skip
    assert copy.mistakes_.tolist() == model.mistakes_.tolist()
    assert copy.stop_reason_.sentence == model.stop_reason_.sentence


def test_learning_goes_on_after_loading(tmp_path):
    y = LABELS["text"]
    whole, part = (Perceptron().partial_fit(X[:30], y[:30], classes=np.unique(y)) for _ in "ab")
    part = back(part, tmp_path / "m.linsep")
    assert part.stop_reason_ is None
    for model in (whole, part):
        model.partial_fit(X[30:], y[30:])
    assert np.array_equal(whole.coef_, part.coef_)
    assert whole.mistakes_.tolist() == part.mistakes_.tolist()


def test_names_weights_and_numpy_numbers_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = Perceptron(
        max_iter=np.int64(3),
        learning_rate=np.float32(0.5),
        class_weight={"a": 2, "beta": 1, "ü": 1},
    ).fit(frame, LABELS["text"])
    copy = back(model, tmp_path / "m.linsep")
    assert copy.feature_names_in_.tolist() == list("vwxyz")
    assert copy.class_weight == model.class_weight
    assert copy.predict(frame).tolist() == model.predict(frame).tolist()
    seeded = Perceptron(random_state=np.random.RandomState(0)).fit(X, CODES)
    assert back(seeded, tmp_path / "s.linsep").random_state is None


def test_estimators_pickle_too():
    model = Perceptron().fit(X, CODES)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(X), model.decision_function(X))
    copy.partial_fit(X, CODES)


def test_every_flipped_byte_and_every_cut_is_noticed(tmp_path):
    path = tmp_path / "m.linsep"
    model = Perceptron(max_iter=2).fit(X[:, :2], CODES > 0)
    linsep.save(model, path)
    content = path.read_bytes()
    for at in range(0, len(content), 29):
        damaged = bytearray(content)
        damaged[at] ^= 0x11
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError) as refusal:
            linsep.load(path)
        assert str(path) in str(refusal.value)
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            linsep.load(path)


def foreign_files(folder):
    linsep.save(Perceptron().fit(X, CODES), folder / "newer")
    rewritten(folder / "newer", about={"format": 99})
    save_file({"w": np.zeros(3)}, folder / "tensors")
    (folder / "pickle").write_bytes(pickle.dumps({"a": 1}))
    (folder / "empty").write_bytes(b"")
    (folder / "folder").mkdir()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("newer", "other-version"),
        ("tensors", "bad-model-file"),
        ("pickle", "bad-model-file"),
        ("empty", "bad-model-file"),
        ("folder", "not-a-file"),
        ("missing", "no-file"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, name, code):
    foreign_files(tmp_path)
    with refused(ModelFileError, code):
        linsep.load(tmp_path / name)


def rewritten(path, about=None, **tensors):
    """The model file at ``path`` with other tensors or another description, and a good checksum."""
    before, described = unsealed(path, model_files.MODEL_FILE)
    path.write_bytes(model_files.sealed(before | tensors, described | (about or {})))
    return path


def with_header(path, change):
    """The same with its header changed, and a good checksum, as somebody might forge it."""
    raw = path.read_bytes()
    end = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:end])
    change(header)
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header, separators=(",", ":")).encode()
    content = struct.pack("<Q", len(text)) + text + raw[end:]
    digest = hashlib.sha256(content).hexdigest().encode()
    path.write_bytes(content.replace(b"0" * 64, digest, 1))
    return path


def test_weights_that_no_run_could_have_learned(tmp_path):
    for wrong in [
        {"coef": np.full((3, 5), np.nan)},
        {"intercept": np.array([0.0, np.inf, 0.0])},
        {"coef": np.ones((3, 5), dtype=np.int32)},
        {"coef": np.ones((3, 5), dtype=bool)},
        {"coef": np.ones((3, 5), dtype=np.float32)},
    ]:
        path = tmp_path / "m.linsep"
        linsep.save(Perceptron().fit(X, CODES), path, force=True)
        assert linsep.load(rewritten(path)).coef_.shape == (3, 5)
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(rewritten(path, **wrong))


def test_weights_of_a_type_that_numpy_lacks(tmp_path):
    for kind in ["BF16", "F8_E4M3"]:
        size = {"BF16": 2}.get(kind, 1)
        header = {
            name: {"dtype": kind, "shape": [1], "data_offsets": [at * size, (at + 1) * size]}
            for at, name in enumerate(("coef", "intercept"))
        }
        text = json.dumps({"__metadata__": {"linsep": "{}"}} | header).encode()
        path = tmp_path / "m.linsep"
        path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(2 * size))
        # packages that onnx needs teach numpy some of these types
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(path)
        with pytest.raises(ModelFileError):
            linsep.load(with_header(path, lambda header: None))


def test_a_file_of_an_earlier_format_is_refused_with_what_to_do(tmp_path):
    """Its checksum was in the description."""
    path = tmp_path / "m.linsep"
    about = json.dumps({"format": 1, "learner": "Perceptron", "sha256": "0" * 64})
    path.write_bytes(to_bytes({"coef": np.zeros((1, 2))}, {"linsep": about}))
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)


def test_the_checksum_covers_types_too(tmp_path):
    """One byte of the header, F64 to I64, changed predictions and no sum."""
    path = tmp_path / "m.linsep"
    linsep.save(Perceptron(keep="vote", max_iter=3).fit(X, CODES), path)
    content = path.read_bytes()
    at = content.index(b'"F64"') + 1
    path.write_bytes(content[:at] + b"I" + content[at + 1 :])
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(path)


def chained(depth):
    linear = {"kernel": "Linear", "parameters": {}}
    kernel = linear
    for _ in range(depth):
        kernel = {"kernel": "Sum", "parameters": {"left": kernel, "right": linear}}
    return kernel


#: what a small file may declare that would take all memory or time, its checksum good
HOSTILE = {
    "bytes of a billion letters": {"classes": {"type": "S1000000000", "values": ["a", "b", "c"]}},
    "nothing of a billion bytes": {"classes": {"type": "V1000000000", "values": [0, 1, 2]}},
    "records": {"classes": {"type": "i8," * 10_000 + "i8", "values": [0, 1, 2]}},
    "pairs of 5,000 classes": {
        "classes": {"type": "<i8", "values": list(range(5000))},
        "parameters": Perceptron(multiclass="ovo").get_params(),
    },
    "700 kernels": {"kernel": chained(700)},
    "150 kernels": {"kernel": chained(150)},
}


@pytest.mark.parametrize("name", [*HOSTILE, "2^40 empty columns"])
def test_nothing_is_made_of_what_a_file_declares_too_large(tmp_path, name):
    path = tmp_path / "m.linsep"
    if "kernels" in name:
        model = KernelPerceptron(kernel=kernels.Spectrum(2)).fit(["ab", "cd"], [0, 1])
    else:
        model = Perceptron().fit(X, CODES)
    linsep.save(model, path)
    if name in HOSTILE:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(10_000)  # to write it
        rewritten(path, HOSTILE[name])
        sys.setrecursionlimit(limit)
    else:
        rewritten(path, coef=np.empty((3, 0)), intercept=np.zeros(3))
        with_header(path, lambda header: header["coef"].update(shape=[0, 2**40]))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            linsep.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_kernels_take_rows_of_as_many_features_as_the_support_vectors_have(tmp_path):
    for features in [2.0, "vote", [1], 0, 10**6, None]:
        path = linsep.save(KernelPerceptron().fit(X, CODES), tmp_path / "m.linsep", force=True)
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(rewritten(path, {"features": features}))


def test_support_vectors_are_a_table_of_floats(tmp_path):
    path = linsep.save(KernelPerceptron().fit(X, CODES), tmp_path / "m.linsep")
    rows = linsep.load(path).support_vectors_
    for wrong in (rows.astype(int), rows[:, :4], rows[..., None], rows[:, 0]):
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(rewritten(path, **{"support.rows": wrong}))


def test_a_text_is_no_number_of_rounds(tmp_path):
    path = linsep.save(Perceptron(keep="average").fit(X, CODES), tmp_path / "m.linsep")
    training = unsealed(path, model_files.MODEL_FILE)[1]["training"] | {"rounds": "60"}
    with refused(ModelFileError, "bad-model-file"):
        linsep.load(rewritten(path, {"feature_names": None, "training": training}))


ENORMOUS = 10**400


def test_counts_beyond_all_rows_and_names_that_are_none_are_refused(tmp_path):
    for model, part, change in [
        (Perceptron(keep="average"), "training", {"rounds": ENORMOUS}),
        (Perceptron(), "training", {"n_updates": ENORMOUS}),
        (Perceptron(), "training", {"passes": [[0, ENORMOUS, 0, 0, 0, None, None, None, None]]}),
        (Perceptron(), "training", {"passes": [[0, 1, 0, 0, 0, ENORMOUS, None, None, None]]}),
        (Perceptron(), "training", {"accuracy": ENORMOUS}),
        (KernelPerceptron(), "training", {"rows_seen": ENORMOUS}),
        (KernelPerceptron(), "features", ENORMOUS),
        (LinearRegression(), "fit", {"n_rows": ENORMOUS}),
        (LogisticRegression(l2=1.0), "n_rows", ENORMOUS),
        (LogisticRegression(l2=1.0), "n_iter", ENORMOUS),
        (GaussianNaiveBayes(), "n_rows", ENORMOUS),
        (GaussianNaiveBayes(), "feature_names", 0.5),
    ]:
        path = linsep.save(model.fit(X, CODES), tmp_path / "m.linsep", force=True)
        whole = unsealed(path, model_files.MODEL_FILE)[1][part]
        with refused(ModelFileError, "bad-model-file"):
            linsep.load(
                rewritten(path, {part: whole | change if isinstance(whole, dict) else change})
            )


def test_substrings_longer_than_all_strings_take_no_time(tmp_path):
    kernel = "BlendedSpectrum"
    path, p = tmp_path / "m.linsep", 10**9
    words = ["ab", "abab", "cd", "cdcd"]
    linsep.save(KernelPerceptron(kernel=kernels.Spectrum(2)).fit(words, [0, 0, 1, 1]), path)
    rewritten(path, {"kernel": {"kernel": kernel, "parameters": {"p": p}}})
    scores = linsep.load(path).decision_function(words)
    expected = {"BlendedSpectrum": kernels.BlendedSpectrum(4)}.get(kernel)
    if expected is None:
        assert not scores.any()
    else:
        model = linsep.load(path)
        K = expected(words, words)
        assert scores == pytest.approx(K[:, model.support_] @ model.dual_coef_[0])


def test_an_existing_file_is_only_replaced_on_demand(tmp_path):
    path = tmp_path / "m.linsep"
    path.write_text("precious")
    model = Perceptron().fit(X, CODES)
    with refused(ModelFileError, "file-exists"):
        linsep.save(model, path)
    assert path.read_text() == "precious"
    linsep.save(model, path, force=True)
    assert np.array_equal(linsep.load(path).coef_, model.coef_)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_model_and_nothing_else(tmp_path, monkeypatch, call):
    path = tmp_path / "m.linsep"
    old = Perceptron(max_iter=1).fit(X, CODES)
    linsep.save(old, path)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with refused(ModelFileError, "cannot-write"):
        linsep.save(Perceptron(max_iter=9).fit(X, CODES), path, force=True)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["m.linsep"]
    assert np.array_equal(linsep.load(path).coef_, old.coef_)


def test_labels_that_json_does_not_know_are_refused(tmp_path):
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")[CODES]
    model = Perceptron().fit(X, CODES)
    model.classes_ = np.unique(days)
    with refused(ModelFileError, "label-type"):
        linsep.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_nothing_in_a_model_file_can_be_executed():
    source = Path(model_files.__file__).read_text(encoding="utf-8")
    assert not any(word in source for word in ("pickle", "eval(", "exec(", "import_module"))


RNG = np.random.default_rng(5)
MAPPED = RNG.normal(size=(40, 3))
Y = (MAPPED @ [1.0, -2.0, 0.5] > 0.1).astype(int)
MODELS = [linsep.Perceptron(keep="average"), linsep.Perceptron(keep="vote"),
          linsep.Perceptron(keep="best"), linsep.Winnow(max_iter=9)]  # fmt: skip


def taught(model, mode, folder):
    """The model, learned from half of the rows and loaded with arrays that are the file's."""
    rows = abs(MAPPED) if isinstance(model, linsep.Winnow) else MAPPED
    joblib.dump(copy.deepcopy(model).partial_fit(rows[:20], Y[:20], [0, 1]), folder / "m.joblib")
    return rows, joblib.load(folder / "m.joblib", mmap_mode=mode)


@pytest.mark.parametrize(("model", "mode"), list(zip(MODELS, ["r", "r+", "c", "r"], strict=True)))
def test_partial_fit_goes_on_with_arrays_of_its_own(model, mode, tmp_path):
    rows, mapped = taught(model, mode, tmp_path)
    before = (tmp_path / "m.joblib").read_bytes()
    mapped.partial_fit(rows[20:], Y[20:])
    whole = copy.deepcopy(model).partial_fit(rows, Y, [0, 1])
    assert np.array_equal(mapped.decision_function(rows), whole.decision_function(rows))
    assert (tmp_path / "m.joblib").read_bytes() == before
