"""Metrics of a server for Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest

#: upper ends of the buckets of seconds
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
#: the path of requests that are refused for their heads: unknown paths or methods, invalid HTTP
OTHER = "other"


class Metrics:
    """Counts since the server was started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "linsep_requests", "Requests answered.", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "linsep_request_seconds", "Time from request to answer.", ["path"], buckets=SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self.rows_predicted = self._counter("rows_predicted", "Rows predicted.")
        self.rows_learned = self._counter(
            "rows_learned", "Rows learned since the server was started."
        )
        self.rows_duplicate = self._counter(
            "rows_duplicate", "Rows sent again after they had been learned."
        )
        self.reloads = self._counter("reloads", "Successful reloads of the model file.")
        self.failed_reloads = self._counter("failed_reloads", "Failed reloads of the model file.")
        self._model = Info("linsep_model", "The served model.", registry=self._registry)

    def _counter(self, name: str, help: str) -> Counter:
        return Counter(f"linsep_{name}", help, registry=self._registry)

    def watch_log(self, counts: dict[str, Callable[[], float]]) -> None:
        """Report these counts of a log by name."""
        for name, count in counts.items():
            gauge = Gauge(f"linsep_log_{name}", f"Of the log: {name}.", registry=self._registry)
            gauge.set_function(count)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def count_refused(self, status: int) -> None:
        """Count a request that was refused because of its head, which takes no time."""
        self.count(OTHER, status, 0.0)

    def text(self, version: str, learner: str) -> bytes:
        """Return all metrics in Prometheus's text format, with the current model."""
        self._model.info({"version": version, "learner": learner})
        return generate_latest(self._registry)
