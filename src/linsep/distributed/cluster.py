"""Tasks on a Dask cluster: submitted by name, awaited, with failures as error messages.

No data are scattered, because scattered data cannot be recomputed when a worker is lost
(dask/distributed issue 3149). Shared data are the result of a task, which the scheduler repeats on
another worker. A task on which more workers died than Dask allows (`allowed-failures`, three) is
not retried.
"""

import logging
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from multiprocessing import resource_tracker
from typing import Any
from uuid import uuid4

import linsep
from linsep._system.interrupts import interruption_point
from linsep.errors import DataError, LinsepError, ParameterError
from linsep.sources.remote.address import shown

try:
    import dask
    from distributed import (
        CancelledError,
        Client,
        Future,
        LocalCluster,
        default_client,
        get_client,
        get_worker,
        rejoin,
        secede,
        wait,
    )
    from distributed.client import FutureCancelledError, FuturesCancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise ImportError("A cluster needs Dask: pip install 'linsep[dask]'.") from error

#: a protocol if it is not TCP, a host without a user, and a port
ADDRESS = re.compile(r"inproc://.+|([a-z]+://)?([^\s/@:]+|\[[^\s/@]+\]):\d+(/.*)?", re.IGNORECASE)
#: seconds to wait for a scheduler, and for a first worker
CONNECTING = 10.0
#: seconds without any worker after which a fit gives up
ALONE = 60.0
#: no rows are moved between workers that are alike
ALIKE = {"distributed.scheduler.work-stealing": False}
#: seconds between looks at the workers
LOOK = 0.5


#: called with the number of a task that is finished
Done = Callable[[int], None]


class ClusterError(LinsepError, RuntimeError):
    """The cluster cannot run the tasks."""

    code = "cluster"


class LostCluster(ClusterError):
    """The cluster was lost during a fit, which may be repeated when it is available again."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to the scheduler at an address such as tcp://10.0.0.1:8786, or start local workers.

    "local" starts one worker process per processor, with one thread each, for the duration of the
    block.

    Raises
    ------
    ClusterError
        If the address is invalid, or no scheduler answers within ten seconds.
    """
    if address == "local":
        with _quiet_logs(), _local_workers() as cluster, Client(cluster) as client:
            yield client
        return
    if not ADDRESS.fullmatch(address):
        raise ClusterError(
            f"{shown(address)} is not the address of a Dask scheduler",
            "give an address such as tcp://10.0.0.1:8786, or local for this machine",
            code="bad-option",
        )
    try:
        client = Client(address, timeout=CONNECTING)
    except (OSError, TimeoutError, ValueError) as problem:
        raise ClusterError(
            f"No Dask scheduler answers at {address} within {CONNECTING:.0f} seconds",
            "start one with `dask scheduler` and its workers with `dask worker ADDRESS`",
            "give its address, such as tcp://10.0.0.1:8786, or local for this machine",
            code="unreachable", value=address,
        ) from problem  # fmt: skip
    with _quiet_logs(), client:
        yield client


def _local_workers() -> LocalCluster:
    """Start worker processes on this machine; raise ClusterError if one ends before it is ready."""
    try:
        with warnings.catch_warnings(), dask.config.set(ALIKE), _uninterrupted_children():
            warnings.filterwarnings("ignore", "Port .* is already in use")  # of the dashboard
            return LocalCluster(threads_per_worker=1, silence_logs=logging.CRITICAL)
    except (OSError, RuntimeError, TimeoutError) as problem:
        raise ClusterError(
            f"A worker process of this machine ended before it was ready ({_cause(problem)})",
            "try again, with more free memory if it ran out of memory",
        ) from problem


def _cause(problem: BaseException) -> str:
    """Return the first line of the original error."""
    while problem.__cause__ is not None:
        problem = problem.__cause__
    return str(problem).partition("\n")[0].strip().rstrip(".") or type(problem).__name__


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep tracebacks of lost connections out of Dask's logs: tasks report them as errors."""
    logs = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


@contextmanager
def _uninterrupted_children() -> Iterator[None]:
    """Shield processes started in the block from Ctrl-C, which a terminal sends to all processes:
    they end with this process. Here it takes effect after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let it through again (Python 3.11)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def client_given(client: Any) -> Iterator[Client]:
    """Yield the given client, else the current one. A task on a worker gives up its thread during
    the block, so it does not wait for itself.
    """
    try:
        get_worker()
        in_task = True
    except ValueError:
        in_task = False
    if in_task:
        secede()
        try:
            yield get_client()
        finally:
            rejoin()
        return
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ParameterError(
                "There is no Dask client: pass client=distributed.Client(...).",
                code="needs-option", option="client",
            ) from None  # fmt: skip
    if client.asynchronous:
        raise ParameterError(
            "client is asynchronous: pass a client created with asynchronous=False, in a thread.",
            option="client",
        )
    yield client


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    python = ".".join(map(str, sys.version_info[:2]))
    packages = {name: metadata.version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"Python": python, "linsep": linsep.__version__} | packages


def refuse_others(known: dict[str, str], who: str) -> None:
    """Raise ClusterError if ``who`` has other versions than this process."""
    own = versions()
    for name, version in known.items():
        if own.get(name) != version:
            raise ClusterError(
                f"{who} has {name} {version}, but this process has {own.get(name)}: install the "
                "same versions on the client and on all workers.", code="other-version",
            )  # fmt: skip


class Cluster:
    """Tasks of one fit.

    Parameters
    ----------
    client : Client
        With at least one worker, available within ten seconds, of the same versions.
    """

    def __init__(self, client: Client):
        self.client, self.token, self._count = client, uuid4().hex[:8], 0
        self._check_workers()

    def _check_workers(self) -> None:
        address = self.client.scheduler.address if self.client.scheduler else "closed"
        try:
            self.client.wait_for_workers(1, timeout=CONNECTING)
            found = self.client.run(versions, on_error="return")
        except TimeoutError:
            raise ClusterError(
                f"The cluster at {address} has no workers: start some with `dask worker {address}`."
            ) from None
        except LOST as problem:
            raise _in_a_sentence(problem) from None
        for worker, known in found.items():
            if isinstance(known, ImportError):
                raise ClusterError(
                    f"The worker at {worker} cannot import linsep ({known}): install linsep on all "
                    "workers.", code="missing-package",
                )  # fmt: skip
            if isinstance(known, dict):  # else it was lost meanwhile
                refuse_others(known, f"The worker at {worker}")

    def submit(
        self, name: str, function: Callable[..., Any], *given: Any, priority: int = 0,
        at: list[str] | None = None,
    ) -> Future:  # fmt: skip
        """Submit a task; ``name`` is shown in the dashboard, ``at`` has the addresses of preferred
        workers.
        """
        self._count += 1
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # weights, once a pass
            return self.client.submit(
                _run, function, *given, key=f"{name}-{self.token}-{self._count}", priority=priority,
                pure=False, workers=at or None, allow_other_workers=bool(at),
            )  # fmt: skip

    def holders(self, futures: list[Future]) -> list[list[str]]:
        """Return the addresses of the workers that hold each result."""
        try:
            found = self.client.who_has(futures)
        except LOST as problem:
            raise _in_a_sentence(problem) from None
        return [list(found.get(future.key, ())) for future in futures]

    def results(self, futures: list[Future], done: Done | None = None) -> list[Any]:
        """Return the results in order; see :meth:`wait`."""
        self.wait(list(futures), done)
        try:
            return self.client.gather(futures)
        except Exception as problem:
            raise _in_a_sentence(problem) from None

    def wait(self, futures: list[Future], done: Done | None = None) -> None:
        """Wait for tasks; ``done`` is called with the number of each finished task.

        ``futures`` is emptied, so unused results can be released. If a task fails, or on Ctrl-C,
        the others are canceled.
        """
        left, alone = {future: k for k, future in enumerate(futures)}, time.monotonic()
        futures.clear()
        try:
            while left:
                interruption_point()
                try:
                    with self.client.as_current():
                        ready = wait(list(left), timeout=LOOK, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    if self._has_workers():
                        alone = time.monotonic()
                    elif time.monotonic() - alone > ALONE:
                        raise LostCluster(
                            f"The cluster has had no workers for {ALONE:.0f} seconds",
                            "start workers and try again: a fit with a checkpoint resumes from it",
                        ) from None
                    continue
                alone = time.monotonic()
                for future in ready:
                    k = left.pop(future)
                    if future.status != "finished":
                        self.client.gather(future)  # raises what was wrong
                    if done is not None:
                        done(k)
        except BaseException as problem:
            self.cancel(list(left))
            raise _in_a_sentence(problem) from None

    def _has_workers(self) -> bool:
        return bool(self.client.scheduler_info(n_workers=-1)["workers"])

    def cancel(self, futures: list[Future]) -> None:
        """Cancel tasks, if the scheduler can still be reached."""
        with suppress(Exception):
            self.client.cancel(futures, force=True)


def given(value: Any) -> Any:
    """Return the value: a task whose result is shared by other tasks."""
    return value


def _run(function: Callable[..., Any], *given: Any) -> Any:
    """Run a task; raise errors that can be pickled, without their causes."""
    try:
        return function(*given)
    except LinsepError as problem:
        kind: type[LinsepError] = ClusterError if isinstance(problem, ClusterError) else DataError
        refused = kind(problem.message, *problem.hints, code=problem.code, **problem.fields)
    raise refused


LOST: Any = (
    CancelledError, FutureCancelledError, FuturesCancelledError, CommClosedError, OSError,
)  # fmt: skip


def _in_a_sentence(problem: BaseException) -> BaseException:
    """Return the exception to raise instead of an error of the cluster; others unchanged."""
    if isinstance(problem, KilledWorker):
        task = str(problem.task).split("-")[0]
        return ClusterError(
            f"The task '{task}' ended {problem.allowed_failures + 1} workers, the last at "
            f"{problem.last_worker.address}, most likely out of memory: give workers more memory, "
            "or choose smaller shards."
        )
    if isinstance(problem, LOST):
        return LostCluster(
            "The scheduler of the cluster was lost, or canceled the tasks "
            f"({type(problem).__name__})",
            "restart it and try again: a fit with a checkpoint resumes from it",
        )
    if isinstance(problem, MemoryError):
        return ClusterError(
            "A worker ran out of memory: give workers more memory, or choose smaller shards.",
            code="too-large",
        )
    return problem
