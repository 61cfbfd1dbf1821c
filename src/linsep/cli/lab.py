"""The command ``lab``: a page in the browser, with points, a learner and its run."""

import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from linsep.cli import options
from linsep.cli.output import check_all_free, open_output
from linsep.errors import DataError, LinsepError, ParameterError

LessonFile = Annotated[
    Path | None,
    typer.Argument(help="Your own lesson, as Markdown.", metavar="[LESSON]", show_default=False),
]
Scene = Annotated[
    str | None,
    typer.Option(
        "--scene",
        help="Ready-made points to begin with, such as xor, or the part of an address after #.",
        metavar="NAME",
        show_default=False,
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        help="Write the run to this HTML file, which needs no server, and exit.",
        metavar="FILE",
        show_default=False,
    ),
]
Port = Annotated[int, typer.Option("--port", help="0 picks a free port.", min=0, max=65535)]
Address = Annotated[
    str,
    typer.Option(
        "--address",
        help="Network address to listen on; others than this machine's own need --token.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option("--token", help="Visitors must send this word.", show_default=False),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        help="A further name by which browsers may ask for the lab; may be repeated.",
        metavar="NAME",
        show_default=False,
    ),
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")]


def lab(
    lesson: LessonFile = None,
    *,
    scene: Scene = None,
    export: Export = None,
    port: Port = 5006,
    address: Address = "127.0.0.1",
    token: Token = None,
    allowed_host: AllowedHosts = None,
    browser: Browser = True,
    force: options.Force = False,
) -> None:
    """Open the lab: place points, watch a learner step by step, see why it stops or never will.

    Example: linsep lab --scene xor
    """
    from linsep.lab.answer import still
    from linsep.lab.pages import standalone
    from linsep.lab.ready import FIRST, ready_made
    from linsep.lab.scene import scene_of_url, url_of

    name = scene or FIRST
    begun = scene_of_url(name) if "=" in name else ready_made(name)
    if export is not None:
        check_all_free(force, export)
        with open_output(export, force) as out:
            out.write(standalone(still(begun)))
        print(f"page     {export}")
        return
    taught = "" if lesson is None else own_lesson(lesson)
    server = _server(address, port, token, allowed_host or [])
    serve(server, address, token, (taught, url_of(begun) if scene else ""), browser)


def own_lesson(path: Path) -> str:
    """Read a lesson of the user's own; return the name that its address has."""
    from linsep.lab.course import OWN, parsed

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} is no text in UTF-8.") from None
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem.strerror}.") from None
    OWN["own"] = {"name": "own", **parsed(text, str(path))}
    return "own"


def serve(
    server: Any, address: str, token: str | None, begin: tuple[str, str], browser: bool
) -> None:
    """Serve the lab until Ctrl-C; ``begin`` is the lesson and the scene to begin with, or ""."""
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


def _server(address: str, port: int, token: str | None, allowed_hosts: list[str]) -> Any:
    """Return a bound server; LinsepError if Panel is missing or the port is taken."""
    try:
        from linsep.lab.server import bound_server
    except ModuleNotFoundError as problem:
        if problem.name not in ("panel", "bokeh", "param", "tornado"):
            raise
        raise LinsepError(
            "The lab needs Panel, which is not installed: pip install 'linsep[lab]'."
        ) from None
    try:
        return bound_server(address, port, token, allowed_hosts)
    except OSError as problem:
        raise ParameterError(
            f"The lab cannot listen on {address}, port {port} ({problem.strerror or problem}): "
            "choose another --port."
        ) from None
