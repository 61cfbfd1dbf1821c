"""Tasks on a Dask cluster: submitted by name, awaited, with failures as error messages.

No data are scattered, because scattered data cannot be recomputed when a worker is lost
(dask/distributed issue 3149). Shared data are the result of a task, which the scheduler repeats on
another worker. A task on which more workers died than Dask allows (`allowed-failures`, three) is
not retried.
"""

import gc
import logging
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib import metadata
from multiprocessing import resource_tracker
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import linsep
from linsep._system import interruption_point
from linsep.errors import DataError, LinsepError, ParameterError
from linsep.sources.remote import shown

try:
    import dask
    from distributed import (
        CancelledError,
        Client,
        Future,
        LocalCluster,
        default_client,
        get_worker,
        wait,
        worker_client,
    )
    from distributed.scheduler import KilledWorker
    from distributed.utils import silence_logging_cmgr
except ImportError as error:
    raise ImportError("A cluster needs Dask: pip install 'linsep[dask]'.") from error

#: seconds to wait for a scheduler, and for a first worker
CONNECTING = 10.0
#: seconds without any worker after which a fit gives up
ALONE = 60.0
#: no rows are moved between workers that are alike
ALIKE = {"distributed.scheduler.work-stealing": False}
#: seconds between looks at the workers
LOOK = 0.5


class ClusterError(LinsepError, RuntimeError):
    """The cluster cannot run the tasks."""

    code = "cluster"


class LostCluster(ClusterError):
    """The cluster was lost during a fit, which may be repeated when it is available again."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to the scheduler at an address such as tcp://10.0.0.1:8786, or start local workers.

    "local" starts one worker process of one thread per processor, for the duration of the block.

    Raises
    ------
    ClusterError
        If the address is invalid, or no scheduler answers within ten seconds.
    """
    with silence_logging_cmgr(logging.CRITICAL):  # tasks report lost connections as errors
        if address == "local":
            with _local_workers() as cluster, Client(cluster) as client:
                yield client
            return
        try:
            client = Client(address, timeout=CONNECTING)
        except (OSError, ValueError) as problem:
            problem.__traceback__ = None  # the client that failed ends here, not while the next
            gc.collect()  # one starts, which would wait for it forever
            raise ClusterError(
                f"No Dask scheduler answers at {shown(address)} within {CONNECTING:.0f} seconds",
                "start one with `dask scheduler` and its workers with `dask worker ADDRESS`",
                "give its address, such as tcp://10.0.0.1:8786, or local for this machine",
                code="unreachable", value=shown(address),
            ) from problem  # fmt: skip
        with client:
            yield client


def _local_workers() -> LocalCluster:
    """Start worker processes on this machine; raise ClusterError if one ends before it is ready."""
    try:
        with warnings.catch_warnings(), dask.config.set(ALIKE), _uninterrupted_children():
            warnings.filterwarnings("ignore", "Port .* is already in use")  # of the dashboard
            return LocalCluster(threads_per_worker=1, silence_logs=logging.CRITICAL)
    except (OSError, RuntimeError) as problem:
        raise ClusterError(
            "A worker process of this machine ended before it was ready",
            "try again, with more free memory if it ran out of memory",
        ) from problem


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


def client_given(client: Any) -> AbstractContextManager[Client]:
    """Return a context of the given client, else of the current one. A task on a worker gives up
    its thread during the block, so it does not wait for itself.
    """
    with suppress(ValueError):
        get_worker()
        return worker_client()
    try:
        return nullcontext(client or default_client())
    except ValueError:
        raise ParameterError(
            "There is no Dask client: pass client=distributed.Client(...).",
            code="needs-option", option="client",
        ) from None  # fmt: skip


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    python = ".".join(map(str, sys.version_info[:2]))
    packages = {name: metadata.version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"Python": python, "linsep": linsep.__version__} | packages


def _same(value: Any) -> Any:
    return value


class Cluster:
    """Tasks of one fit.

    Parameters
    ----------
    client : Client
        With at least one worker, available within ten seconds.
    """

    def __init__(self, client: Client):
        self.client, self.token, self._count = client, uuid4().hex[:8], 0
        #: addresses of the workers where tasks that use a result run, if they can
        self._at = WeakKeyDictionary[Future, list[str]]()
        with in_sentences():
            try:
                client.wait_for_workers(1, timeout=CONNECTING)
            except TimeoutError:
                at = client.scheduler.address
                raise ClusterError(
                    f"The cluster at {at} has no workers: start some with `dask worker {at}`."
                ) from None
            found = client.run(versions, on_error="return")
        for worker, known in found.items():
            # A worker that was lost meanwhile does not matter.
            if isinstance(known, Exception) and not isinstance(known, OSError):
                raise ClusterError(
                    f"The worker at {worker} cannot import linsep ({known}): install linsep on all "
                    "workers.", code="missing-package",
                )  # fmt: skip

    def submit(
        self, name: str, function: Callable[..., Any], *given: Any, priority: int = 0
    ) -> Future:
        """Submit a task; ``name`` is shown in the dashboard. It runs where its arguments stay."""
        self._count += 1
        places = (self._at.get(one) for one in given if isinstance(one, Future))
        at = next(filter(None, places), None)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # weights, once a pass
            future = self.client.submit(
                _run, versions(), function, *given, key=f"{name}-{self.token}-{self._count}",
                priority=priority, pure=False, workers=at, allow_other_workers=bool(at),
            )  # fmt: skip
        if at:
            self._at[future] = at
        return future

    def share(self, value: Any) -> Future:
        """Submit a value that several tasks use."""
        return self.submit("share setting", _same, value)

    def stay(self, futures: list[Future]) -> None:
        """Let what uses these results run on the workers that hold them."""
        with in_sentences():
            found = self.client.who_has(futures)
        self._at.update({future: list(found.get(future.key, ())) for future in futures})

    def results(self, futures: list[Future], done: Callable[[Future], Any] = _same) -> Any:
        """Return the results in order; see :meth:`wait`."""
        self.wait(futures, done)
        with in_sentences():
            return self.client.gather(futures)

    def wait(self, futures: list[Future], done: Callable[[Future], Any] = _same) -> None:
        """Wait for tasks; ``done`` is called with each that is finished. If a task fails, or on
        Ctrl-C, the others are released.
        """
        left, alone = set(futures), time.monotonic()
        try:
            with in_sentences(), self.client.as_current():
                while left:
                    interruption_point()
                    ready: set[Future] = set()
                    with suppress(TimeoutError):
                        ready, left = wait(left, LOOK, "FIRST_COMPLETED")
                    self.client.gather([one for one in ready if one.status == "error"])  # raises it
                    for future in ready:
                        done(future)
                    if ready or self.client.scheduler_info(n_workers=-1)["workers"]:
                        alone = time.monotonic()
                    elif time.monotonic() - alone > ALONE:
                        raise LostCluster(
                            f"The cluster has had no workers for {ALONE:.0f} seconds",
                            "start workers and try again: a fit with a checkpoint resumes from it",
                        )
        except BaseException:
            for future in left:
                future.release()  # to cancel them fails where others depend on them
            raise


def at_shard(name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function; its errors name a shard."""
    try:
        return function(*given)
    except DataError as problem:
        raise problem.at(f"{name}: ") from None


def _run(known: dict[str, str], function: Callable[..., Any], *given: Any) -> Any:
    """Run a task; raise ClusterError if the client has other versions than this worker."""
    for name, version in versions().items():
        if known.get(name) != version:
            raise ClusterError(
                f"The worker at {get_worker().address} has {name} {version}, but the client has "
                f"{known.get(name)}: install the same versions on the client and on all workers.",
                code="other-version",
            )
    return function(*given)


@contextmanager
def in_sentences() -> Iterator[None]:
    """Raise errors of the cluster as sentences, and others unchanged."""
    try:
        yield
    except KilledWorker as problem:
        task = str(problem.task).split("-")[0]
        raise ClusterError(
            f"The task '{task}' ended {problem.allowed_failures + 1} workers, the last at "
            f"{problem.last_worker.address}, most likely out of memory: give workers more memory, "
            "or choose smaller shards."
        ) from None
    except (CancelledError, OSError) as problem:
        raise LostCluster(
            "The scheduler of the cluster was lost, or canceled the tasks "
            f"({type(problem).__name__})",
            "restart it and try again: a fit with a checkpoint resumes from it",
        ) from None
    except MemoryError:
        raise ClusterError(
            "A worker ran out of memory: give workers more memory, or choose smaller shards.",
            code="too-large",
        ) from None
