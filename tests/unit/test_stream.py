"""Learning from files: the weights of memory, to the bit, whatever has to be read how often."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import linsep.rows.arrays
import linsep.rows.source_stream
from linsep import PassiveAggressive, Perceptron, open_source
from linsep.batches import Batch
from linsep.errors import DataError
from linsep.sources import ArraySource
from refusals import refused
from thoroughness import met
from whole_files import load_svmlight

# Uncompiled loops take a hundred times as long.
ROWS, FEATURES = 200, 12


def lines(X, y):
    for row, label in zip(X, y, strict=True):
        yield f"{label:g} " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(row) if v) + "\n"


def rows(n_classes, order="mixed", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (ROWS, FEATURES)) * (rng.random((ROWS, FEATURES)) < 0.5)
    y = (X @ rng.standard_normal((FEATURES, n_classes))).argmax(axis=1)
    if order == "sorted":
        by_class = np.argsort(y, kind="stable")
        X, y = X[by_class], y[by_class]
    return X, y


@pytest.fixture
def text(tmp_path):
    def write(n_classes, order="mixed"):
        path = tmp_path / "rows.svm"
        path.write_text("".join(lines(*rows(n_classes, order))))
        return path

    return write


@pytest.fixture
def small_blocks(monkeypatch):
    """Orders and batches as of a large file: several batches of several blocks."""
    monkeypatch.setattr(linsep.rows.arrays, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.source_stream, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.arrays, "MANY", 4)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 8000)


def source_of(path, memory_bytes, cache=None, chunk_bytes=700):
    source = open_source(path, cache=cache)
    source.memory_bytes = memory_bytes
    source._chunk_bytes = chunk_bytes
    return source


def same(a, b):
    return np.array_equal(a.coef_, b.coef_) and np.array_equal(a.intercept_, b.intercept_)


@pytest.mark.filterwarnings("ignore:All rows of class.* have weight 0")
@pytest.mark.parametrize(
    ("memory_bytes", "order", "options", "multiclass"),
    met(
        [0, 1 << 30],
        ["mixed", "sorted"],
        [
            {},
            {"shuffle": False},
            {"max_iter": 1},
            {"early_stopping": True, "n_iter_no_change": 2},
            {"class_weight": "balanced"},
            {"class_weight": {0: 0.0, 1: 2.0, 2: 1.0}, "early_stopping": True},
            {"fit_intercept": False, "random_state": 7},
        ],
        ["binary", "native", "ovr", "ovo"],
    ),
    ids=str,
)
def test_files_give_the_weights_of_memory(
    text, small_blocks, tmp_path, memory_bytes, order, options, multiclass
):
    n_classes = 2 if multiclass == "binary" else 3
    if n_classes == 2 and isinstance(options.get("class_weight"), dict):
        options = options | {"class_weight": {0: 3.0, 1: 2.0}}
    path = text(n_classes, order)
    kind = "native" if n_classes == 2 else multiclass
    settings = {"max_iter": 4, "multiclass": kind} | options
    X, y = load_svmlight(path)
    expected = Perceptron(**settings).fit(X, y)
    for _ in range(2):  # the second time from the cache of the first
        learned = Perceptron(**settings).fit(source_of(path, memory_bytes, tmp_path / "cache"))
        assert same(learned, expected)
        assert learned.mistakes_.tolist() == expected.mistakes_.tolist()
        assert learned.stop_reason_ == expected.stop_reason_
        assert learned.progressive_accuracy_ == expected.progressive_accuracy_
        assert np.array_equal(learned.classes_, expected.classes_)
        assert learned.n_features_in_ == FEATURES
    if (
        settings["max_iter"] > 1
        and "early_stopping" not in options
        and "class_weight" not in options
    ):
        assert learned.training_accuracy_ == pytest.approx(learned.score(X, y), abs=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("extra", "order", "early_stopping"), [(0, "sorted", False), (1, "mixed", True)]
)
def test_sizes_at_which_orders_change(extra, order, early_stopping):
    rng = np.random.default_rng(extra + 1)
    X = rng.integers(-3, 4, (linsep.rows.arrays.SMALL + extra, 4)).astype(float)
    y = (X[:, 0] + 2 * rng.standard_normal(len(X)) > 0).astype(int)
    if order == "sorted":
        X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    options = {"max_iter": 4, "early_stopping": early_stopping, "class_weight": "balanced"}
    expected = Perceptron(**options).fit(X, y)
    source = ArraySource(X, y, batch_rows=1000)
    source.memory_bytes = 0
    learned = Perceptron(**options).fit(source)
    assert same(learned, expected)
    assert learned.mistakes_.tolist() == expected.mistakes_.tolist()
    assert len(learned.mistakes_) == 4
    assert not same(expected, Perceptron(**options | {"shuffle": False}).fit(X, y))


def test_several_files_are_one_stream(tmp_path):
    X, y = rows(2)
    for k, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        (tmp_path / f"part{k}.svm").write_text("".join(lines(X[part], y[part])))
    expected = Perceptron(max_iter=4).fit(sp.csr_matrix(X.astype(float)), y)
    for data in (tmp_path, str(tmp_path / "part*.svm"), sorted(tmp_path.iterdir())):
        assert same(Perceptron(max_iter=4).fit(open_source(data)), expected)


def test_the_kept_cache_is_named_and_temporary_ones_are_gone(text, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    path = text(2)
    kept, temporary = source_of(path, 0, tmp_path / "cache"), source_of(path, 0)
    Perceptron(max_iter=2).fit(kept)
    Perceptron(max_iter=2).fit(temporary)
    assert kept.kept.parent == tmp_path / "cache" / "linsep-rows"
    assert kept.kept.is_file()
    assert temporary.kept is None
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_unusable_files_are_refused_and_nothing_goes_on_behind(tmp_path):
    for content, code in [
        ("1 1:1\n1 2:1\n", "class-count"),
        ("1 1:1\n-1 1:nan\n", "not-finite"),
        ("1 1:1e308 2:1e308\n-1 1:1e308 2:1e308\n", "overflow"),
    ]:
        path = tmp_path / "bad.svm"
        path.write_text(content)
        before = set(threading.enumerate())
        model = Perceptron(max_iter=3)
        with refused(ValueError, code):
            model.fit(source_of(path, 0))
        assert not hasattr(model, "coef_")
        assert set(threading.enumerate()) <= before


def test_a_source_brings_its_own_labels(text):
    with refused(ValueError, "conflict", option="y"):
        Perceptron().fit(open_source(text(2)), np.zeros(ROWS))


class Watched(ArraySource):
    """Three batches, each made in a while; notes who asks for something meanwhile."""

    def __init__(self, X, y):
        super().__init__(X, y)
        self.busy, self.asked = False, []

    def batches(self):
        for k in range(3):
            self.busy = True
            time.sleep(0.1 * k)
            self.busy = False
            rows = slice(2 * k, 2 * k + 2)
            yield Batch(self._X[rows], self._beside["y"][rows], 2 * k)

    def recipe(self):
        self.asked.append(self.busy)
        return {}

    def where(self, row):
        self.asked.append(self.busy)
        return f"row {row}"


@pytest.mark.parametrize("fault", ["row", "label"])
def test_nothing_is_read_while_a_fault_is_told(fault):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0.0, 1.0] * 3)
    if fault == "row":
        X[3] = np.nan
    else:
        y[3] = 0.5
    source = Watched(X, y)
    with pytest.raises(DataError):
        PassiveAggressive(max_iter=1).fit(source)
    assert source.asked
    assert not any(source.asked)
