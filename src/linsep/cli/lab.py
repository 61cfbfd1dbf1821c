"""The command ``lab``: a page in the browser, with points, a learner and its run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.cli import options
from linsep.cli.output import check_all_free, open_output
from linsep.errors import LinsepError, ParameterError

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
        help="Write the run to this HTML file, which needs no server, and end.",
        metavar="FILE",
        show_default=False,
    ),
]
Port = Annotated[int, typer.Option("--port", help="0: any free one.", min=0, max=65535)]
Address = Annotated[
    str, typer.Option("--address", help="Network address to listen on; with --token only.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", help="Visitors must show this word.", show_default=False),
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")]


def lab(
    *,
    scene: Scene = None,
    export: Export = None,
    port: Port = 5006,
    address: Address = "127.0.0.1",
    token: Token = None,
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
    begin = url_of(begun) if scene else ""
    serve(address, port, token, begin, browser)


def serve(address: str, port: int, token: str | None, begin: str, browser: bool) -> None:
    """Serve the lab until Ctrl-C."""
    server = _server(address, port, token)
    shown = f"[{address}]" if ":" in address else address
    query = f"?token={token}" if token else ""
    url = f"http://{shown}:{server.port}/{query}{'#' if begin else ''}{begin}"
    print(f"lab      {url}", flush=True)
    print("         Ctrl-C ends it", flush=True)
    server.start()
    if browser:
        import webbrowser

        server.io_loop.add_callback(webbrowser.open, url)
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.io_loop.stop()
    server.stop()


def _server(address: str, port: int, token: str | None) -> Any:
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
        return bound_server(address, port, token)
    except OSError as problem:
        raise ParameterError(
            f"The lab cannot listen on {address}, port {port} ({problem.strerror or problem}): "
            "choose another --port."
        ) from None
