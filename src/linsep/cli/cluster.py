"""The options of ``fit`` and ``separate`` that work on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from linsep.cli.errors import note
from linsep.cli.options import Option
from linsep.errors import DataError
from linsep.sources.base import Source
from linsep.words import counted

CLUSTER = Option(
    "--cluster", section="Cluster", metavar="ADDRESS",
    help="Train on the Dask cluster at ADDRESS, such as tcp://10.0.0.1:8786; its workers read "
    "DATA under the same paths. local: worker processes of this machine.",
)  # fmt: skip
MIXING = Option(
    "--mixing", section="Cluster", metavar="uniform|mistakes",
    help="With --cluster: weight shards in the mixture equally (the default) or by their "
    "mistakes.",
)  # fmt: skip
SHARD_MB = Option(
    "--shard-mb", section="Cluster", type=float, metavar="MB",
    help="With --cluster: size of a shard (64), on which the result depends.",
)  # fmt: skip
#: for commands whose result does not depend on shards
READERS = Option(
    "--cluster", metavar="ADDRESS",
    help="Run on the Dask cluster at ADDRESS, such as tcp://10.0.0.1:8786; its workers read "
    "DATA under the same paths. local: worker processes of this machine.",
)  # fmt: skip
READ_MB = Option(
    "--shard-mb", type=float, metavar="MB", help="With --cluster: size of a shard (64)."
)


@contextmanager
def dask_needed() -> Iterator[None]:
    """Say in a sentence that Dask is missing where it is imported in the block."""
    try:
        yield
    except ImportError as problem:
        raise DataError(str(problem)) from None


@contextmanager
def connected_to(address: str) -> Iterator[Any]:
    """Connect to a cluster, and say how many workers it has."""
    from linsep.distributed import connected

    with connected(address) as client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        note(f"{counted(workers, 'worker')}; dashboard at {client.dashboard_link}")
        yield client


class Place:
    """Where a fit is made: here, or on the cluster at an address."""

    def __init__(self, address: str | None, mixing: str | None, shard_mb: float | None):
        self.address = address
        given: dict[str, Any] = {"mixing": mixing, "shard_mb": shard_mb}
        self._how = {name: value for name, value in given.items() if value is not None}
        if self._how and address is None:
            name = next(iter(self._how)).replace("_", "-")
            raise click.BadParameter(f"--{name} needs --cluster, where shards are learnt.")

    def fit(self, estimator: Any, source: Source, arguments: dict[str, Any]) -> None:
        """Fit the estimator to the source."""
        if self.address is None:
            estimator.fit(source, **arguments)
            return
        with dask_needed():
            from linsep.distributed import check, fit
        check(estimator, source, **self._how)
        with connected_to(self.address) as client:
            fit(estimator, source, client=client, **self._how, **arguments)
