"""The command ``serve``: a model over HTTP."""

from pathlib import Path
from typing import Any

from linsep.cli import options
from linsep.cli.errors import note
from linsep.cli.options import command, number, option
from linsep.cli.output import print_pairs
from linsep.errors import LinsepError
from linsep.serving import Limits
from linsep.words import counted

#: packages of linsep[serve]
NEEDED = ("uvicorn", "httptools", "orjson", "prometheus_client")
DEFAULT = Limits()


@command()
def serve(
    model: Path = options.MODEL,
    host: str = option(
        "--host", "ADDRESS",
        "Network address to listen on; --token is required unless it is local.",
        default="127.0.0.1",
    ),
    port: int = option(
        "--port", number(at_least=0, at_most=65535), "Port; 0 selects a free one.", default=8000
    ),
    token: str | None = option(
        "--token", "WORD",
        "Access token: requests must send the header Authorization: Bearer WORD. The "
        "environment variable LINSEP_TOKEN sets it without showing it to other users.",
        envvar="LINSEP_TOKEN",
    ),
    allowed_host: list[str] | None = option(
        "--allowed-host", "NAME",
        "Additional host name of this server, such as the name of a proxy; repeatable. "
        "Servers on a local address refuse other names.",
        many=True,
    ),
    log: Path | None = option(
        "--log", options.FILE, "Train on rows sent to /learn, and log them in this file."
    ),
    max_body: int = option(
        "--max-body", options.size_of("a body"), "Maximum size of a request body.", default="10MB"
    ),
    max_rows: int = option(
        "--max-rows", number(at_least=1), "Maximum number of rows in a request.",
        default=DEFAULT.rows,
    ),
    max_memory: int = option(
        "--max-memory", options.size_of("memory"),
        "Maximum memory for the rows of a request and the response.", default="256MB",
    ),
    max_seconds: float = option(
        "--max-seconds", number(float, "SECONDS", above=0.0),
        "Maximum time to process a request.", default=DEFAULT.seconds,
    ),
) -> None:  # fmt: skip
    """Serve a model over HTTP: /predict, /learn, /model, /health, /metrics; / documents them.

    If MODEL is replaced, the new file is served within a second, except with --log.

    Example: linsep serve species.linsep --port 8000
    """
    try:
        from linsep.serving import Server
    except ModuleNotFoundError as problem:
        if problem.name not in NEEDED:
            raise
        raise LinsepError(
            f"Serving needs {problem.name}, which is not installed: pip install 'linsep[serve]'.",
            code="missing-package",
        ) from None
    limits = Limits(body=max_body, rows=max_rows, memory=max_memory, seconds=max_seconds)
    server = Server(
        model, host=host, port=port, token=token, allowed_hosts=allowed_host or [], log=log,
        limits=limits, say=note,
    )  # fmt: skip
    server.run(lambda: _announce(server, host))


def _announce(server: Any, host: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    about = server.served.about()
    pairs = [
        ("serving", f"http://{shown}:{server.port}/"),
        ("model", f"{about['learner']}, {counted(about['features'], 'feature')}, version "
                  f"{about['version']}"),
    ]  # fmt: skip
    if server.learning is not None:
        rows = server.learning.log.n_rows
        pairs.append(("log", f"{server.learning.log.path}, {counted(rows, 'row')} learned"))
    print_pairs(pairs)
    print("         Ctrl-C ends it", flush=True)
