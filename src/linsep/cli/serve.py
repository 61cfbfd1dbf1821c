"""The command ``serve``: a model over HTTP."""

from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.cli import options
from linsep.cli.failures import note
from linsep.cli.screen import count, print_pairs
from linsep.errors import LinsepError
from linsep.parameters import Parameter
from linsep.serving.limits import COLUMNS, Limits

#: what linsep[serve] brings
NEEDED = ("uvicorn", "httptools", "orjson", "prometheus_client")
DEFAULT = Limits()

Host = Annotated[
    str, typer.Option("--host", help="Network address to listen on; all but this machine's "
                      "own require --token.")
]  # fmt: skip
Port = Annotated[int, typer.Option("--port", help="0 picks a free port.", min=0, max=65535)]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="LINSEP_TOKEN",
        show_envvar=False,
        help="Requests must send this word as Authorization: Bearer WORD. The environment variable "
        "LINSEP_TOKEN sets it without showing it to other users.",
        metavar="WORD",
        show_default=False,
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        help="A further name by which requests may ask for this server, such as that of a proxy; "
        "may be repeated. On this machine's own addresses others are refused.",
        metavar="NAME",
        show_default=False,
    ),
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log",
        help="Learn rows sent to /learn, and log them in this file.",
        metavar="FILE",
        show_default=False,
    ),
]
MostBody = Annotated[
    Any,
    typer.Option(
        "--max-body",
        parser=options.size_of("a body"),
        help="Maximum size of a request body.",
        metavar="SIZE",
    ),
]
MostRows = Annotated[
    Any,
    typer.Option(
        "--max-rows",
        parser=options.reader(Parameter(name="max_rows", kind=int, at_least=1)),
        help="Maximum number of rows in a request.",
        metavar="N",
    ),
]
MostFeatures = Annotated[
    Any,
    typer.Option(
        "--max-features",
        parser=options.reader(Parameter(name="max_features", kind=int, at_least=1)),
        help="Maximum number of columns of a table, or values of a row, if the model has fewer.",
        metavar="N",
    ),
]
MostMemory = Annotated[
    Any,
    typer.Option(
        "--max-memory",
        parser=options.size_of("memory"),
        help="Maximum memory for the rows of a request and its answer.",
        metavar="SIZE",
    ),
]
MostSeconds = Annotated[
    Any,
    typer.Option(
        "--max-seconds",
        parser=options.reader(Parameter(name="max_seconds", kind=float, above=0.0)),
        help="Maximum time for the rows of a large request.",
        metavar="SECONDS",
    ),
]


def serve(
    model: options.ModelIn,
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    allowed_host: AllowedHosts = None,
    log: LogFile = None,
    max_body: MostBody = "10MB",
    max_rows: MostRows = DEFAULT.rows,
    max_features: MostFeatures = COLUMNS,
    max_memory: MostMemory = "256MB",
    max_seconds: MostSeconds = DEFAULT.seconds,
) -> None:
    """Serve a model over HTTP: /predict, /learn, /model, /health, /metrics; / explains them.

    If MODEL is replaced, the new file is served within a second, or at SIGHUP.

    Example: linsep serve species.linsep --port 8000
    """
    try:
        from linsep.serving.server import Server
    except ModuleNotFoundError as problem:
        if problem.name not in NEEDED:
            raise
        raise LinsepError(
            f"Serving needs {problem.name}, which is not installed: pip install 'linsep[serve]'."
        ) from None
    limits = Limits(
        body=max_body, rows=max_rows, features=max_features, memory=max_memory,
        seconds=max_seconds, bodies=max(DEFAULT.bodies, 2 * max_body),
    )  # fmt: skip
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
        ("model", f"{about['learner']}, {count(about['features'], 'feature')}, version "
                  f"{about['version']}"),
    ]  # fmt: skip
    if server.learning is not None:
        rows = server.learning.log.n_rows
        pairs.append(("log", f"{server.learning.log.path}, {count(rows, 'row')} learnt"))
    print_pairs(pairs)
    print("         Ctrl-C ends it", flush=True)
