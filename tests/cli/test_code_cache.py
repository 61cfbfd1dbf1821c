"""Compiled code on disk: compiled once, never older than its source, and nothing planted runs."""

import os
import pickle
import re
import resource
import shutil
import stat
import subprocess
import sys
import threading
import warnings

import pytest
from filelock import FileLock
from numba import typeof

from command_line import here
from linsep._system.files import CacheWarning, _warned
from linsep.compiled import WORK, jit
from linsep.compiled.jit import compiled
from linsep.compiled.rules.perceptron import Constant, PerceptronRule


def twice(x):
    return 2 * x


class Cache:
    """A compile cache of its own, asked by one new dispatcher after the other."""

    def __init__(self, path):
        self.path = path

    def run(self):
        """How often a loop that is new to this process was loaded, and how often compiled."""
        loop = compiled(twice)
        assert loop(21) == 42
        return sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values())

    @property
    def file(self):
        (found,) = self.path.rglob("*.code")
        return found


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE_DIR", str(tmp_path / "cache"))
    jit.code_folder.cache_clear()
    _warned.clear()
    yield Cache(tmp_path / "cache")
    jit.code_folder.cache_clear()


def runs_without(cache, said):
    """The loop runs without a cache, which one warning says."""
    with warnings.catch_warnings(record=True, action="always") as heard:
        assert [cache.run(), cache.run()] == [(0, 1), (0, 1)]
    (warning,) = heard
    assert warning.category is CacheWarning
    assert re.search(said, str(warning.message))


@pytest.mark.compiled
def test_the_time_of_compiling_is_counted(cache):
    before, times = WORK.seconds, []
    for _ in range(2):
        cache.run()
        times.append(WORK.seconds)
    assert times[0] > before
    assert times == [times[0]] * 2  # loading is no compiling
    assert not WORK.going_on


@pytest.mark.compiled
@pytest.mark.parametrize("damage", ["empty", "flipped", "swapped"])
def test_damaged_code_is_compiled_again(cache, damage):
    assert cache.run() == (0, 1)
    assert cache.run() == (1, 0)
    whole, foreign = cache.file.read_bytes(), pickle.dumps((("another", "loop"), None))
    cache.file.write_bytes({
        "empty": b"",
        "flipped": whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
        "swapped": jit.MAGIC + jit.hashlib.sha256(foreign).digest() + foreign,
    }[damage])  # fmt: skip
    assert cache.run() == (0, 1)
    assert cache.run() == (1, 0)


@pytest.mark.compiled
def test_folders_and_files_are_for_their_owner_alone(cache):
    umask = os.umask(0)
    try:
        cache.run()
    finally:
        os.umask(umask)
    for path in (cache.path, *cache.path.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


class Planted:
    """Leaves a trace where it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def plant(cache, tmp_path):
    """Put a pickle in place of the code, as somebody could who can write there."""
    cache.run()
    content = pickle.dumps(Planted(tmp_path / "trace"))
    head = jit.MAGIC + jit.hashlib.sha256(content).digest()
    cache.file.write_bytes(head + content)


@pytest.mark.compiled
def test_code_in_a_folder_that_others_can_write_never_runs(cache, tmp_path):
    plant(cache, tmp_path)
    folder = cache.path / "compiled"
    folder.chmod(0o777)
    jit.code_folder.cache_clear()
    runs_without(cache, re.escape(f"others can write in {folder} (its mode is 777)"))
    folder.chmod(0o700)
    cache.path.chmod(0o777)  # they could put another folder in its place
    jit.code_folder.cache_clear()
    runs_without(cache, re.escape(f"others can write in {cache.path} (its mode is 777)"))
    cache.path.chmod(0o1777)  # as /tmp is
    jit.code_folder.cache_clear()
    cache.file.chmod(0o622)
    assert cache.run() == (0, 1)
    assert not (tmp_path / "trace").exists()


@pytest.mark.compiled
def test_a_full_disk_costs_a_warning_and_leaves_no_file(cache):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        runs_without(cache, r"cannot be cached in .* \(File too large\), .*free some space there")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.suffix for path in cache.path.rglob("*.*")] == [".lock"]
    assert cache.run() == (0, 1)
    assert cache.run() == (1, 0)


@pytest.mark.compiled
def test_a_lock_that_is_never_released_is_waited_for_no_longer_than_said(cache, monkeypatch):
    cache.run()
    code, lock = cache.file, FileLock(cache.file.with_suffix(".lock"), thread_local=False)
    whole = code.read_bytes()

    def compiled_by_another():
        code.write_bytes(whole)
        lock.release()

    code.unlink()
    lock.acquire()
    threading.Timer(0.3, compiled_by_another).start()
    assert cache.run() == (1, 0)  # it has waited, and loads
    code.unlink()
    monkeypatch.setattr(jit, "LOCK_SECONDS", 0.1)
    with lock, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.run() == (0, 1)
    assert cache.run() == (1, 0)


@pytest.mark.compiled
def test_old_versions_go_and_nothing_else(cache, monkeypatch):
    cache.run()
    (version,) = (cache.path / "compiled").iterdir()
    old = version.with_name("0" * 16)
    version.rename(old)
    (old / "letter.txt").write_text("of somebody else")
    (old / "walk.walk-0123456789abcdef.code").write_text("named like ours, but not ours")
    strange = version.parent / "precious"
    strange.mkdir()
    (strange / "walk.walk-0123456789abcdef.code").write_bytes(jit.MAGIC)
    monkeypatch.setattr(jit, "MOST_BYTES", 0)
    jit.code_folder.cache_clear()
    assert cache.run() == (0, 1)
    assert sorted(path.name for path in old.iterdir()) == [
        "letter.txt", "walk.walk-0123456789abcdef.code",
    ]  # fmt: skip
    assert (strange / "walk.walk-0123456789abcdef.code").exists()
    assert cache.run() == (1, 0)


@pytest.mark.compiled
def test_a_rule_from_elsewhere_is_never_older_than_its_file(tmp_path):
    """The hash is of our own files, of all of them: with a rule of another nothing is kept."""
    here, inner = jit.source_hash(), tmp_path / "compiled" / "rules" / "perceptron.py"
    shutil.copytree(jit.HERE, tmp_path / "compiled")
    assert jit.source_hash(tmp_path / "compiled") == here
    inner.write_text(inner.read_text() + "#")
    assert jit.source_hash(tmp_path / "compiled") != here
    foreign = type("Rule", (PerceptronRule,), {"__module__": "own"})
    for rule, ours in ((PerceptronRule, True), (foreign, False)):
        kind = typeof(rule(Constant(1.0)))
        assert jit.is_ours((kind, typeof(1.0))) is ours


#: runs commands, and names the files of the loops that were looked up
LOOPS = """
import sys
from linsep.compiled import jit
from linsep.cli.main import command
asked, path = set(), jit.CodeCache._place

def remembered(cache, signature, codegen):
    found = path(cache, signature, codegen)
    asked.add(found[0].name)
    return found

jit.CodeCache._place = remembered
for words in sys.argv[1:]:
    sys.argv = ["linsep", *words.split()]
    try:
        command()
    except SystemExit as end:
        assert not end.code
print(*asked)
"""


@pytest.mark.compiled
def test_a_fit_afterwards_compiles_nothing(tmp_path):
    """All loops that it needs have been looked up by ``linsep compile`` before."""
    (tmp_path / "t.svm").write_text("".join(f"{i % 2} 1:{i} 3:{i * i % 7}\n" for i in range(30)))
    fit = "fit t.svm --learner naive-bayes --model m --test t.svm"
    found = []
    for commands in (["compile --learner naive-bayes"], [fit, "predict m t.svm"]):
        done = subprocess.run(
            [sys.executable, "-c", LOOPS, *commands], cwd=tmp_path, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        found.append(set(done.stdout.splitlines()[-1].split()))
    assert set() < found[1] <= found[0]


def test_no_such_learner(tmp_path):
    done = here("compile", "--learner", "forest", cwd=tmp_path)
    assert done.returncode == 2
    assert "'forest'" in done.stderr


PRESSED = """
import signal
import numpy as np
from numba.core import event
from linsep.compiled.text_counting import hash_of

class Presser(event.Listener):
    def on_start(self, happened):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, happened):
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
data = np.ones(8, np.uint8)
before = signal.getsignal(signal.SIGINT)
with event.install_listener("numba:compile", Presser()):
    try:
        hash_of(data)
    except KeyboardInterrupt:
        assert signal.getsignal(signal.SIGINT) is before
        print(len(hash_of.signatures), sum(hash_of.stats.cache_misses.values()))
"""


@pytest.mark.thorough
@pytest.mark.compiled
def test_ctrl_c_waits_for_the_compiler(tmp_path):
    # Within it, Ctrl-C would be swallowed by a callback, or leave half a function behind.
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRESSED],
        env=os.environ | {"LINSEP_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1\n", "")
