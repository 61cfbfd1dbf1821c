"""Metrics of a server for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest

from linsep.serving.model import Served

#: upper ends of the buckets of seconds
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
COUNTERS = {
    "rows_predicted": "Rows predicted.",
    "rows_learned": "Rows learned since the server was started.",
    "rows_duplicate": "Rows sent again after they had been learned.",
    "reloads": "Successful reloads of the model file.",
    "failed_reloads": "Failed reloads of the model file.",
}


class Metrics:
    """Counts since the server was started, by the names of `COUNTERS` in ``counters``."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self.counters = {
            name: Counter(f"linsep_{name}", help, registry=own) for name, help in COUNTERS.items()
        }
        self._rows = Gauge("linsep_log_rows", "Rows in the log.", registry=own)
        labels, help = ["path", "status"], "Requests answered."
        self._requests = Counter("linsep_requests", help, labels, registry=own)
        self._seconds = Histogram(
            "linsep_request_seconds", "Time from request to answer.", ["path"], buckets=SECONDS,
            registry=own,
        )  # fmt: skip
        self._model = Info("linsep_model", "The served model.", registry=own)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request; refused for its head, its path is "other"."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self, served: Served) -> bytes:
        """Return all metrics in Prometheus's text format, with the current model."""
        self._model.info({"version": served.version, "learner": type(served.model).__name__})
        self._rows.set(served.learned)
        return generate_latest(self._registry)
