"""What all tests share: where the shared data are, hypothesis without a clock, and signals that
arrive.
"""

import gc
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings
from joblib import cpu_count

from linsep.compiled.jit import COMPILING
from thoroughness import THOROUGH, examples

# pytest imports readline, which sets this for all processes that it starts, but not in os.environ:
# tables would be as wide as the terminal that the tests are run in.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

# The first example of a test may have to compile what it tests.
settings.register_profile("linsep", examples(100))
settings.load_profile("linsep")

# Scripts start what runs in the background with these ignored, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)

#: in which run a test is, by default without the compiler; a mark of a case is nearer than one of
#: its file
WHERE = ("compiled", "uncompiled", "both")
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One for each processor."""
    return cpu_count()


def pytest_ignore_collect(collection_path):
    """Do not import files without a test for the run with the compiler, or without another."""
    if not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text("utf-8")
    if COMPILING:
        return None if re.search(r"mark\.(compiled|both)", text) else True
    whole = re.search(r"^pytestmark = .*mark\.compiled", text, re.M)
    return True if whole and not re.search(r"mark\.(uncompiled|both)", text) else None


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked for the other run, or for `make test-thorough` alone; and of the
    combinations of several parameters those without a value that others do not have.
    """
    tests = {}
    for item in items:
        if is_run(item):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item for cases in tests.values() for item in (cases if THOROUGH else enough(cases))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def enough(cases):
    """Cases of a test in which every value of every parameter is, greedily."""
    if len(cases) == 1 or cases[0].get_closest_marker("every"):
        return cases
    values = {case: {(k, id(v)) for k, v in case.callspec.params.items()} for case in cases}
    left = set().union(*values.values())
    if len(left) >= len(cases):  # of one parameter, or of parameters side by side
        return cases
    found = []
    while left:
        found.append(max(cases, key=lambda case: len(values[case] & left)))
        left -= values[found[-1]]
    return found


def is_run(item):
    """Whether a test is in this run: with the compiler, or without it; thorough, or not."""
    if item.get_closest_marker("thorough") and not THOROUGH:
        return False
    where = next((mark.name for mark in item.iter_markers() if mark.name in WHERE), "uncompiled")
    return where in ("both", "compiled" if COMPILING else "uncompiled")


def pytest_collection():
    """Collect the tests without looking for garbage, which would be a quarter of the time."""
    gc.disable()


def pytest_collection_finish():
    """Leave modules and tests, half a million objects, out of the searches for garbage to come, and
    make these rare: nothing here lives long.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.fixture
def hangup():
    """SIGHUP arrives, which nohup ignores; only here, so that the other tests survive one."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data sets beside the checkout; tests that need it are skipped without."""
    if not SHARED_DATA.is_dir():
        pytest.skip("skipped: no shared data")
    return SHARED_DATA


@pytest.fixture(scope="session")
def workers():
    """The Dask cluster of these tests, of threads; a test that scales it puts two back."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        update = cluster._update_worker_status

        def told(what, about):
            with suppress(KeyError):  # of a worker that scaling has removed before
                update(what, about)

        cluster._update_worker_status = told
        yield cluster


@pytest.fixture(scope="session")
def client(workers):
    """A client of these workers."""
    from distributed import Client

    with Client(workers, set_as_default=False) as client:
        yield client
