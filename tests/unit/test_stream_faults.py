"""Learning from files when something goes wrong on the way: never other weights than in memory."""

import errno
import gc
import threading

import numpy as np
import pytest

import linsep.rows.arrays
import linsep.rows.source_stream
from linsep import Perceptron, open_source
from linsep.errors import DataError, LinsepError
from linsep.sources import ArraySource
from linsep.sources.row_cache import RowCacheWriter
from refusals import refused
from whole_files import load_svmlight

RNG = np.random.default_rng(4)
ROWS, FEATURES = 200, 7
X = RNG.integers(-3, 4, (ROWS, FEATURES)) * (RNG.random((ROWS, FEATURES)) < 0.7)
Y = (X @ RNG.standard_normal((FEATURES, 3))).argmax(axis=1)
BINARY, LATE = Y % 2, np.where(np.arange(ROWS) < 150, Y % 2, Y)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Several batches of several blocks, as of a large file."""
    monkeypatch.setattr(linsep.rows.arrays, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.source_stream, "SMALL", 100)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 4000)


@pytest.fixture(autouse=True)
def nothing_goes_on_behind():
    before = set(threading.enumerate())  # other tests leave threads of other libraries
    yield
    if set(threading.enumerate()) - before:
        gc.collect()  # which takes longer than most of these tests
    assert [t.name for t in set(threading.enumerate()) - before] == []


@pytest.fixture
def file(tmp_path):
    def write(y, name="rows.svm"):
        with open(tmp_path / name, "w") as out:
            for row, label in zip(X, y, strict=True):
                pairs = " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v)
                out.write(f"{label} {pairs}\n")
        return tmp_path / name

    return write


def source_of(path, cache=None, memory_bytes=0, chunk_bytes=500):
    source = open_source(path, cache=cache)
    source.memory_bytes, source._chunk_bytes = memory_bytes, chunk_bytes
    return source


def weights(model):
    return model.coef_.tobytes() + model.intercept_.tobytes()


def in_memory(path, **options):
    return Perceptron(**{"max_iter": 3} | options).fit(*load_svmlight(path))


def from_file(path, cache=None, **options):
    return Perceptron(**{"max_iter": 3} | options).fit(source_of(path, cache))


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[int(at * len(content))] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("options", "memory_bytes"),
    [
        ({}, 0),
        ({"class_weight": {2: 5.0}}, 1 << 20),
        ({"class_weight": "balanced"}, 0),
        ({"early_stopping": True}, 1 << 20),
        ({"max_iter": 1, "multiclass": "ovr"}, 0),
        ({"multiclass": "ovo", "shuffle": False}, 0),
    ],
)
def test_a_class_seen_late(file, options, memory_bytes):
    path = file(LATE)
    learned = Perceptron(**{"max_iter": 3} | options).fit(source_of(path, None, memory_bytes))
    expected = in_memory(path, **options)
    assert weights(learned) == weights(expected)
    assert learned.mistakes_.tolist() == expected.mistakes_.tolist()
    assert learned.n_updates_ == expected.n_updates_


@pytest.mark.parametrize(
    ("where", "options"),
    [
        (0.1, {}), (0.4, {"keep": "average"}), (0.999, {"early_stopping": True, "shuffle": False}),
        (0.7, {"max_iter": 1}),
    ],
)  # fmt: skip
def test_a_damaged_cache_changes_nothing(file, tmp_path, where, options):
    path, cache = file(Y), tmp_path / "cache"
    learned, expected = (Perceptron(**{"max_iter": 3} | options) for _ in "ab")
    from_file(path, cache)
    (row_cache,) = cache.rglob("*.rows")
    for _ in range(2):
        flip(row_cache, where)
        damaged = row_cache.read_bytes()
        learned.fit(source_of(path, cache))
        expected.fit(*load_svmlight(path))
        assert weights(learned) == weights(expected)
        assert learned.mistakes_.tolist() == expected.mistakes_.tolist()
        if learned.max_iter == 1:  # one pass needs no cache, but would have read it
            break
        assert row_cache.read_bytes() != damaged


@pytest.mark.parametrize("call", ["write", "commit"])
def test_without_room_only_unshuffled_passes_go_on(file, tmp_path, monkeypatch, call):
    path, cache = file(LATE), tmp_path / "cache"

    def full(writer, *arguments):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(RowCacheWriter, call, full)
    learned = from_file(path, cache, shuffle=False)
    expected = in_memory(path, shuffle=False)
    assert weights(learned) == weights(expected)
    assert learned.training_accuracy_ == expected.score(*load_svmlight(path))
    for options in ({}, {"shuffle": False, "early_stopping": True}):
        with refused(LinsepError, "cannot-write"):
            from_file(path, cache, **options)
    assert list((cache / "linsep-rows").iterdir()) == []


def test_places_where_no_cache_can_be(file, tmp_path, monkeypatch):
    path = file(Y)
    (tmp_path / "taken").write_text("a file, not a folder")
    with refused(LinsepError, "cannot-write"):
        from_file(path, tmp_path / "taken")
    same = from_file(path, tmp_path / "taken", shuffle=False)
    assert weights(same) == weights(in_memory(path, shuffle=False))

    def nowhere(*arguments, **options):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("linsep.rows.source_stream.scratch_folder", nowhere)
    with refused(LinsepError, "cannot-write"):
        from_file(path)


@pytest.mark.parametrize(("cached", "at_pass"), [(False, 0), (True, 1)])
def test_an_exception_in_the_middle_ends_everything_at_once(
    file, tmp_path, monkeypatch, cached, at_pass
):
    path, scratch = file(Y), tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    cache = tmp_path / "cache" if cached else None
    if cached:
        from_file(path, cache)
    walk, count = linsep.learners.passes.learn_batch, []

    def interrupted(course, row_batch):
        count.append(course.number)
        if count.count(at_pass) == 2:
            raise KeyboardInterrupt
        walk(course, row_batch)

    monkeypatch.setattr(linsep.learners.passes, "learn_batch", interrupted)
    model, before = Perceptron(max_iter=3), set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(source_of(path, cache))
    # The exception still holds every frame, yet threads and files are gone.
    assert caught.tb is not None
    assert set(threading.enumerate()) <= before
    assert list(scratch.iterdir()) == []
    assert [p.suffix for p in tmp_path.glob("cache/*/*")] == ([".rows"] if cached else [])
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == at_pass + 1
    assert model.n_features_in_ == FEATURES


def test_labels_that_are_no_classes_are_named(monkeypatch):
    for labels in (
        [0.0, 1.0, 1.0, 0.5], [0.0, 1.0, np.nan, 1.0], [0.0, np.inf, 1.0, 1.0],
        np.array(["a", "b", 3, "b"], dtype=object), np.array(["a", "b", None, "b"], dtype=object),
        [b"a", b"b", b"a", b"b"], np.arange(4).astype("M8[D]"),
    ):  # fmt: skip
        source = ArraySource(np.eye(4), np.array(labels), batch_rows=2)
        with refused(DataError, "label-type"):
            Perceptron().fit(source)
    monkeypatch.setattr("linsep.rows.source_stream.MOST_CLASSES", 5)
    with refused(DataError, "class-count", row=6):
        Perceptron().fit(ArraySource(np.eye(9), np.arange(9), batch_rows=2))
    Perceptron(max_iter=1).fit(ArraySource(np.eye(9), np.arange(9) % 5, batch_rows=2))


def test_weights_for_classes_that_are_not_there_are_refused(file):
    model = from_file(file(BINARY))
    before = weights(model)
    with refused(DataError, "unknown-label", option="class_weight"):
        from_file(file(BINARY), class_weight={1: 1.0, 7: 2.0})
    with refused(LinsepError, "class-count"):
        from_file(file(0 * Y))
    with refused(ValueError, "shape", option="coef_init"):
        model.fit(source_of(file(BINARY)), coef_init=np.ones((2, 2)))
    assert weights(model) == before


def test_initial_weights_of_another_width_are_filled_with_zeros(file):
    path = file(BINARY)
    for width in (2, FEATURES + 3):
        coef = np.arange(1.0, width + 1)[None]
        wide = np.zeros((1, max(width, FEATURES)))
        wide[:, :width] = coef
        X, y = load_svmlight(path)
        X.resize(ROWS, wide.shape[1])
        expected = Perceptron(max_iter=2).fit(X, y, coef_init=wide)
        for chunk_bytes in (60, 1 << 20):
            source = source_of(path, chunk_bytes=chunk_bytes)
            learned = Perceptron(max_iter=2).fit(source, coef_init=coef)
            assert weights(learned) == weights(expected)
            assert learned.n_features_in_ == wide.shape[1]


@pytest.mark.parametrize("rows", [90, ROWS])  # below and above SMALL
def test_rows_sorted_by_class_are_not_read_all_at_once(file, monkeypatch, rows):
    # Neighbors of one class are dealt from 256 blocks, however many bytes those take.
    by_class = np.argsort(Y[:rows], kind="stable")
    X = np.random.default_rng(3).integers(-9, 10, (rows, 40)).astype(float)
    monkeypatch.setattr(linsep.rows.source_stream, "BATCH_BYTES", 64 * 40 * 8)
    expected = Perceptron(max_iter=3).fit(X, Y[by_class])
    source = ArraySource(X, Y[by_class], batch_rows=50)
    source.memory_bytes = 0
    batches = []
    as_rows = linsep.rows.source_stream.as_rows

    def noted(X, *rest):
        batches.append(X.shape[0])
        return as_rows(X, *rest)

    monkeypatch.setattr(linsep.rows.source_stream, "as_rows", noted)
    learned = Perceptron(max_iter=3).fit(source)
    assert weights(learned) == weights(expected)
    assert max(batches) <= 64
