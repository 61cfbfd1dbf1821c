"""The commands ``serve`` and ``lab``: a model, or the lab, in a browser."""

import signal
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from linsep.cli import options
from linsep.cli.errors import flag_of, note
from linsep.cli.options import Option, Repeatable, command
from linsep.cli.output import check_all_free, open_output, print_pairs
from linsep.errors import LinsepError, ParameterError
from linsep.serving import Limits
from linsep.words import counted, size_text

#: endings of lessons
MARKDOWN = (".md", ".markdown")
#: packages of linsep[serve]
NEEDED = ("uvicorn", "httptools", "orjson", "prometheus_client")
DEFAULT = Limits()

PORT = options.number(at_least=0, at_most=65535)
SERVE_OPTIONS = (
    Option(
        "--host", default="127.0.0.1", metavar="ADDRESS",
        help="Network address to listen on; --token is required unless it is local.",
    ),
    Option("--port", **PORT, default=8000, help="Port; 0 selects a free one."),
    Option(
        "--token", envvar="LINSEP_TOKEN", metavar="WORD",
        help="Access token: requests must send the header Authorization: Bearer WORD. The "
        "environment variable LINSEP_TOKEN sets it without showing it to other users.",
    ),
    Repeatable(
        "--allowed-host", metavar="NAME",
        help="Additional host name of this server, such as the name of a proxy; repeatable. "
        "Servers on a local address refuse other names.",
    ),
    Option(
        "--log", type=options.LocalPath(), metavar="FILE",
        help="Train on rows sent to /learn, and log them in this file.",
    ),
    Option(
        "--max-body", type=options.size_of("a body"), default="10MB", metavar="SIZE",
        help="Maximum size of a request body.",
    ),
    Option(
        "--max-rows", default=DEFAULT.rows, **options.number(at_least=1),
        help="Maximum number of rows in a request.",
    ),
    Option(
        "--max-features", default=DEFAULT.features, **options.number(at_least=1),
        help="Maximum number of columns of a table or values of a row, if the model has fewer.",
    ),
    Option(
        "--max-memory", type=options.size_of("memory"), default="256MB", metavar="SIZE",
        help="Maximum memory for the rows of a request and the response.",
    ),
    Option(
        "--max-seconds", default=DEFAULT.seconds,
        **options.number(float, above=0.0) | {"metavar": "SECONDS"},
        help="Maximum time to process a request.",
    ),
)  # fmt: skip


@command(options.MODEL, *SERVE_OPTIONS)
def serve(
    model: Path, *, host: str, port: int, token: str | None, allowed_host: list[str] | None,
    log: Path | None, max_body: int, max_rows: int, max_features: int, max_memory: int,
    max_seconds: float,
) -> None:  # fmt: skip
    """Serve a model over HTTP: /predict, /learn, /model, /health, /metrics; / documents them.

    If MODEL is replaced, the new file is served within a second, or after SIGHUP.

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
    limits = Limits(
        body=max_body, rows=max_rows, features=max_features, memory=max_memory,
        seconds=max_seconds,
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
        ("model", f"{about['learner']}, {counted(about['features'], 'feature')}, version "
                  f"{about['version']}"),
    ]  # fmt: skip
    if server.learning is not None:
        rows = server.learning.log.n_rows
        pairs.append(("log", f"{server.learning.log.path}, {counted(rows, 'row')} learned"))
    print_pairs(pairs)
    print("         Ctrl-C ends it", flush=True)


LESSON = options.Argument(
    "lesson", required=False, type=options.LocalPath(), metavar="FILE",
    help="A lesson in Markdown (.md), or a data file, of which the first 500 rows are shown.",
)  # fmt: skip
#: reading options of a data file
POINTS = options.Gathered(
    "how",
    (
        options.TARGET, options.MISSING_VALUES, options.EXCLUDE, *options.TYPES,
        Option(
            "--scale", **options.choice(options.SCALES),
            help="Standardize both coordinates, or not.  [default: standard if their standard "
            "deviations differ by a factor above 5, else none]",
        ),
        *options.FILES.options,
    ),
)  # fmt: skip
LAB_OPTIONS = (
    Option(
        "--scene", metavar="NAME",
        help="Initial setup, such as xor, or the part of a lab URL after #.",
    ),
    Option(
        "--export", type=options.LocalPath(), metavar="FILE",
        help="Write the run to this HTML file, which does not need a server, and exit.",
    ),
    Option(
        "--static", type=options.LocalPath(), metavar="FOLDER",
        help="Write the lab to this folder, for any static web server, and exit.",
    ),
    Option("--port", **PORT, default=5006, help="Port; 0 selects a free one."),
    Option(
        "--address", default="127.0.0.1", metavar="ADDRESS",
        help="Network address to listen on; --token is required unless it is local.",
    ),
    Option("--token", metavar="WORD", help="Access token for visitors."),
    Repeatable(
        "--allowed-host", metavar="NAME",
        help="Additional host name of the lab; repeatable.",
    ),
    Option("--browser/--no-browser", default=True, help="Whether to open the browser."),
)  # fmt: skip


@command(LESSON, *LAB_OPTIONS, POINTS, options.FORCE)
def lab(
    lesson: Path | None, *, scene: str | None, export: Path | None, static: Path | None, port: int,
    address: str, token: str | None, allowed_host: list[str] | None, browser: bool,
    how: dict[str, Any], force: bool,
) -> None:  # fmt: skip
    """Open the lab: place points, watch a learner step by step, and see whether and why it stops.

    Example: linsep lab --scene xor
    """
    from linsep.lab import own_lesson, page_without_server, standalone, url_of

    rows = lesson if lesson is not None and lesson.suffix.lower() not in MARKDOWN else None
    lesson, begun = lesson if rows is None else None, _begun(rows, scene, how)
    if export is not None:
        if lesson is not None:
            raise click.BadParameter(
                "--export writes a setup without a lesson: leave out the lesson, or choose "
                "--static, which includes it."
            )
        check_all_free(force, export)
        with open_output(export, force) as out:
            out.write(standalone(page_without_server(begun)))
        print(f"page     {export}")
    if static is not None:
        _write_static(static, begun, lesson, force)
    if export is not None or static is not None:
        return
    taught = "" if lesson is None else own_lesson(lesson)
    server = _lab_server(address, port, token, allowed_host or [])
    _serve_lab(server, address, token, (taught, url_of(begun) if scene or rows else ""), browser)


def _write_static(folder: Path, scene: Any, lesson: Path | None, force: bool) -> None:
    """Write the lab to a folder, which must be empty or new unless ``force``."""
    from linsep.lab import check_static, own_lesson, write_static

    check_static()
    text = ""
    if lesson is not None:
        own_lesson(lesson)  # which reports the error
        text = lesson.read_text(encoding="utf-8")
    if not force and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LinsepError(
            f"{folder} exists and is not an empty folder: name another, or overwrite its files "
            "with --force.",
            code="file-exists",
            path=folder,
        )
    folder.mkdir(parents=True, exist_ok=True)
    size = write_static(folder, scene, text)
    print(f"page     {folder / 'index.html'}{'?lesson=own' * bool(text)}, {size_text(size)} in all")
    print(f"         to see it: python -m http.server --directory {folder}")


def _begun(rows: Path | None, scene: str | None, how: dict[str, Any]) -> Any:
    """Return the initial setup; BadParameter if it is given twice, or for reading options without a
    file."""
    from linsep.lab import FIRST, named_scene, scene_of_file

    if rows is not None:
        if scene is not None:
            raise click.BadParameter(
                "--scene and a data file cannot be combined: give one of them."
            )
        return scene_of_file(rows, note, **how)
    if given := [name for name, value in how.items() if value not in (None, "error")]:
        raise click.BadParameter(f"{flag_of(given[0])} needs a data file: name it.")
    try:
        return named_scene(scene or FIRST)
    except LinsepError as problem:
        raise click.BadParameter(str(problem)) from None


def _serve_lab(
    server: Any, address: str, token: str | None, begin: tuple[str, str], browser: bool
) -> None:
    """Serve the lab until Ctrl-C; ``begin`` is the initial lesson and setup, or ""."""
    shown = f"[{address}]" if ":" in address else address
    lesson, scene = begin
    query = urlencode({k: v for k, v in (("token", token), ("lesson", lesson)) if v})
    url = f"http://{shown}:{server.port}/{'?' * bool(query)}{query}{'#' * bool(scene)}{scene}"
    print(f"lab      {url}", flush=True)
    print("         Ctrl-C ends it", flush=True)
    server.start()
    for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
        # The loop is woken whichever thread gets the signal, and no callback can swallow it.
        with suppress(NotImplementedError):  # on Windows
            server.io_loop.asyncio_loop.add_signal_handler(number, server.io_loop.stop)
    if browser:
        import webbrowser

        server.io_loop.add_callback(webbrowser.open, url)
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.io_loop.stop()
    server.stop()


def _lab_server(address: str, port: int, token: str | None, allowed_hosts: list[str]) -> Any:
    """Return a bound server; LinsepError if Panel is missing or the port is taken."""
    try:
        from linsep.lab import bound_server
    except ModuleNotFoundError as problem:
        if problem.name not in ("panel", "bokeh", "param", "tornado"):
            raise
        raise LinsepError(
            "The lab needs Panel, which is not installed: pip install 'linsep[lab]'.",
            code="missing-package",
        ) from None
    try:
        return bound_server(address, port, token, allowed_hosts)
    except OSError as problem:
        raise ParameterError(
            f"The lab cannot listen on {address}, port {port} ({problem.strerror or problem}): "
            "choose another --port.",
            option="port",
            value=port,
        ) from None
