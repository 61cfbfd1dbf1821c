"""Counts of a server, as Prometheus reads them (text format 0.0.4)."""

from bisect import bisect_left
from collections import Counter
from typing import Any

#: upper ends of the buckets of seconds
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


#: the address of requests that are refused for their heads: unknown addresses or methods, no HTTP
OTHER = "other"


class Metrics:
    """Counts since the server was started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self.rows_predicted = self.rows_learnt = self.rows_known = 0
        self.reloads, self.failed_reloads = 0, 0

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests[path, status] += 1
        if path not in self._buckets:
            self._buckets[path], self._seconds[path] = [0] * (len(SECONDS) + 1), 0.0
        self._buckets[path][bisect_left(SECONDS, seconds)] += 1
        self._seconds[path] += seconds

    def count_refused(self, status: int) -> None:
        """Count a request that was refused for its head alone, which takes no time."""
        self.count(OTHER, status, 0.0)

    def text(self, about: dict[str, Any], log: dict[str, int]) -> str:
        """Return all counts.

        Parameters
        ----------
        about : of the model, as :meth:`linsep.serving.model.Served.about` returns it
        log : counts of the log by name; empty without one
        """
        lines = _heading("linsep_requests_total", "counter", "Requests answered.")
        for (path, status), number in sorted(self.requests.items()):
            lines.append(f'linsep_requests_total{{path="{path}",status="{status}"}} {number}')
        lines += _heading("linsep_request_seconds", "histogram", "Time from request to answer.")
        for path, buckets in sorted(self._buckets.items()):
            lines += self._histogram(path, buckets)
        counts = {
            "rows_predicted": (self.rows_predicted, "Rows predicted."),
            "rows_learnt": (self.rows_learnt, "Rows learnt since the server was started."),
            "rows_known": (self.rows_known, "Rows sent again that were learnt before."),
            "reloads": (self.reloads, "Models taken in place of an older one."),
            "failed_reloads": (self.failed_reloads, "Models that could not be taken."),
        }
        for name, (number, help) in counts.items():
            lines += _heading(f"linsep_{name}_total", "counter", help)
            lines.append(f"linsep_{name}_total {number}")
        for name, number in log.items():
            lines += _heading(f"linsep_log_{name}", "gauge", f"Of the log: {name}.")
            lines.append(f"linsep_log_{name} {number}")
        lines += _heading("linsep_model_info", "gauge", "The model that is served.")
        labels = f'version="{about["version"]}",learner="{about["learner"]}"'
        lines.append(f"linsep_model_info{{{labels}}} 1")
        return "\n".join(lines) + "\n"

    def _histogram(self, path: str, buckets: list[int]) -> list[str]:
        name, total, lines = "linsep_request_seconds", 0, []
        for end, number in zip((*SECONDS, "+Inf"), buckets, strict=True):
            total += number
            lines.append(f'{name}_bucket{{path="{path}",le="{end}"}} {total}')
        lines.append(f'{name}_sum{{path="{path}"}} {self._seconds[path]!r}')
        lines.append(f'{name}_count{{path="{path}"}} {total}')
        return lines


def _heading(name: str, kind: str, help: str) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
