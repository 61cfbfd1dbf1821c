"""Temporary files of killed processes are swept by the next that looks, and no others."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import linsep
from linsep import Perceptron
from linsep._system import files

pytestmark = pytest.mark.compiled

LEAVE = """
import signal, tempfile, sys
from pathlib import Path
from linsep._system.files import scratch_file, scratch_folder
folder = Path(sys.argv[1])
tempfile.tempdir = str(folder)
kept = scratch_folder()
(Path(kept.name) / "rows.rows").write_text("rows")
scratch_file(folder, ".model")
print("made", flush=True)
sys.stdin.read()
"""


def leaving(folder):
    """A process that has made a temporary folder and a file, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVE, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "made\n"
    return process


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_uses_stays(tmp_path):
    dead, living = leaving(tmp_path), leaving(tmp_path)
    try:
        files.remove_abandoned(tmp_path)
        assert len(list(tmp_path.iterdir())) == 4
        dead.kill()
        dead.communicate()
        files.remove_abandoned(tmp_path)
        names = sorted(path.name for path in tmp_path.iterdir())
        assert len(names) == 2
        assert all(f"linsep-{living.pid}-" in name for name in names)
    finally:
        living.kill()
        living.communicate()
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    files.remove_abandoned(tmp_path)
    assert not list(tmp_path.iterdir())


def name_of(pid=None, started=None, place=None):
    pid = os.getpid() if pid is None else pid
    started = files._started(os.getpid()) if started is None else started
    return f"linsep-{pid}-{started}-{place or files._place()}-abcdefgh"


def test_a_number_that_another_process_has_now_is_no_sign_of_life(tmp_path):
    (tmp_path / name_of()).mkdir()
    (tmp_path / name_of(started=1)).mkdir()
    files.remove_abandoned(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name_of()]


def test_files_of_another_machine_go_when_they_are_old(tmp_path):
    young, old = tmp_path / name_of(place="0" * 8), tmp_path / name_of(place="1" * 8)
    for path in (young, old):
        path.write_text("")
    os.utime(old, (0, time.time() - 2 * files.ABANDONED_SECONDS))
    files.remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [young]


def test_files_of_other_users_and_of_other_names_stay(tmp_path, monkeypatch):
    dead = name_of(pid=2**22 + 1, started=1)
    foreign = ["linsep-base", "linsep-1-2-3", "letter.tmp", dead + "-copy", dead[:-1]]
    for name in (dead, *foreign):
        (tmp_path / name).write_text("")
    (tmp_path / (dead[:-8] + "link0000")).symlink_to(tmp_path / "letter.tmp")
    user = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: user + 1)
        files.remove_abandoned(tmp_path)
    assert (tmp_path / dead).exists()
    files.remove_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(foreign)


def test_without_proc_a_living_process_is_known_by_its_number(tmp_path, monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setattr(files, "_started", lambda pid: 0 if files._runs(pid) else None)
    for pid in (os.getpid(), gone.pid):
        (tmp_path / name_of(pid=pid, started=0)).mkdir()
    files.remove_abandoned(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name_of(started=0)]


def test_folders_that_are_not_there_or_not_ours_to_change_are_no_error(tmp_path, monkeypatch):
    files.remove_abandoned(tmp_path / "none")
    dead = tmp_path / name_of(pid=2**22 + 1, started=1)
    dead.mkdir()

    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("linsep._system.files.shutil.rmtree", refused)
    files.remove_abandoned(tmp_path)
    assert dead.exists()


@pytest.mark.parametrize(
    "make", [files.scratch_folder, lambda: files.scratch_file(Path(tempfile.tempdir), "m")]
)
def test_making_a_temporary_file_sweeps(tmp_path, monkeypatch, make):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = tmp_path / name_of(pid=2**22 + 1, started=1)
    dead.mkdir()
    made = make()
    assert not dead.exists()
    (left,) = tmp_path.iterdir()
    assert files.SCRATCH_NAME.fullmatch(left.name)
    assert left.stat().st_mode & 0o077 == 0
    if isinstance(made, tuple):
        os.close(made[0])
    else:
        made.cleanup()


def test_a_killed_save_leaves_the_old_model_and_the_next_sweeps(tmp_path):
    model = Perceptron().fit([[0.0], [1.0]], [0, 1])
    path = linsep.save(model, tmp_path / "m")
    old = path.read_bytes()
    child = os.fork()
    if child == 0:  # as if killed in the midst of writing
        os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
        linsep.save(model, path, force=True)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    assert path.read_bytes() == old
    linsep.save(model, path, force=True)
    assert list(tmp_path.iterdir()) == [path]
