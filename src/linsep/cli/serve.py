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

DEFAULT = Limits()


@command()
def serve(
    model: Path = options.MODEL,
    host: str = option(
        "--host", "ADDRESS", "Network address; others than local ones need --token.",
        default="127.0.0.1",
    ),
    port: int = option(
        "--port", number(at_least=0, at_most=65535), "Port; 0 selects a free one.", default=8000
    ),
    token: str | None = option(
        "--token", "WORD", "Access token, which requests send as Authorization: Bearer WORD; the "
        "environment variable LINSEP_TOKEN hides it from other users.", envvar="LINSEP_TOKEN",
    ),
    allowed_host: list[str] | None = option(
        "--allowed-host", "NAME",
        "Another name that requests may use, such as a proxy's; repeatable.", many=True,
    ),
    log: Path | None = option("--log", options.FILE, "Train on rows sent to /learn, logged here."),
    max_body: int = option(
        "--max-body", options.size_of("a body"), "Largest request body.", default="10MB"
    ),
    max_rows: int = option(
        "--max-rows", number(at_least=1), "Most rows in a request.", default=DEFAULT.rows
    ),
    max_memory: int = option(
        "--max-memory", options.size_of("memory"), "Most memory for a request.", default="256MB"
    ),
    max_seconds: float = option(
        "--max-seconds", number(float, "SECONDS", above=0.0), "Most time for a request.",
        default=DEFAULT.seconds,
    ),
) -> None:  # fmt: skip
    """Serve a model over HTTP: /predict, /learn, /model, /health, /metrics; / documents them.

    If MODEL is replaced, the new file is served within a second, except with --log.

    Example: linsep serve species.linsep --port 8000
    """
    try:
        from linsep.serving import Server
    except ModuleNotFoundError as problem:
        told = f"Serving needs {problem.name}, which is missing: pip install 'linsep[serve]'."
        raise LinsepError(told, code="missing-package") from None
    limits = Limits(body=max_body, rows=max_rows, memory=max_memory, seconds=max_seconds)
    server = Server(
        model, host=host, port=port, token=token, allowed_hosts=allowed_host or [], log=log,
        limits=limits, say=note,
    )  # fmt: skip
    server.run(lambda: _announce(server, host))


def _announce(server: Any, host: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    about = server.served.about()
    model = about["learner"], counted(about["features"], "feature"), f"version {about['version']}"
    log = None if server.learning is None else server.learning.log
    print_pairs([
        ("serving", f"http://{shown}:{server.port}/"),
        ("model", ", ".join(model)),
        ("log", log and f"{log.path}, {counted(log.n_rows, 'row')} learned"),
    ])  # fmt: skip
    print("         Ctrl-C ends it", flush=True)
