"""The server of the lab: Panel and Bokeh, one process, nothing from the internet."""

import hmac
import logging
import secrets
import socket
import traceback
from collections.abc import Sequence
from typing import Any, ClassVar

import panel as pn
from bokeh.server.auth_provider import AuthProvider
from panel.custom import JSComponent
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError

from linsep.errors import ParameterError, hint
from linsep.lab.answer import answer
from linsep.lab.pages import script, style_sheet

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")
COOKIE = "linsep-lab"
#: largest message of a browser, in bytes
MOST_BYTES = 2_000_000
#: after so many milliseconds without a connection a session is forgotten
FORGOTTEN_AFTER, LOOK_EVERY = 10_000, 5_000
FAILED = (
    "The lab's server failed: its terminal has the details. Undo the last change, or reload the "
    "page."
)
#: what the page adds to Panel's own
TEMPLATE = """{% block preamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
{% endblock %}"""


class Page(JSComponent):
    """The page of one browser tab, without state: every message gets its answer."""

    _esm = script("component")
    _stylesheets: ClassVar[list[str]] = [style_sheet()]

    def _handle_msg(self, data: Any) -> None:
        try:
            found = answer(data)
        except Exception:
            traceback.print_exc()
            asked = data if isinstance(data, dict) else {}
            found = {"kind": asked.get("kind"), "number": asked.get("number"), "fault": FAILED}
        self._send_msg(found)


def bound_server(
    address: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    allowed_hosts: Sequence[str] = (),
) -> Any:
    """Return a server of the lab, bound but not started.

    Parameters
    ----------
    address : str
        Address of the network interface to listen on. Only loopback needs no token.
    port : int
        0 chooses a free port.
    token : str
        Access token. Visitors pass it once, as ``?token=``; a cookie remembers it.
    allowed_hosts : sequence of str
        Further host names of this server.
    """
    if address not in LOOPBACK and not token:
        raise ParameterError(
            f"Other machines could reach the lab at {address}",
            hint("protect it with {}", token="SECRET"),
            code="unsafe",
            option="token",
        )
    if token is not None and len(token) < 8:
        raise ParameterError("The token needs at least 8 characters.", option="token")
    hosts = origins_of(address) | set(allowed_hosts)
    server = pn.io.server.get_server(
        {"/": make_page}, port=port, address=address, title="linsep lab", location=False,
        websocket_max_message_size=MOST_BYTES, unused_session_lifetime_milliseconds=FORGOTTEN_AFTER,
        check_unused_sessions_milliseconds=LOOK_EVERY,
        # Tornado pings: pings by Bokeh raise where a socket is about to close
        keep_alive_milliseconds=0, websocket_ping_interval=LOOK_EVERY / 1000,
        websocket_ping_timeout=0, session_token_expiration=3600,
        websocket_origin=sorted(hosts), show=False, start=False,
        auth_provider=Visitors(hosts, token), cookie_secret=secrets.token_hex(32),
    )  # fmt: skip
    # A tab may close while its answer is on the way: nobody needs to read about it.
    logging.getLogger("bokeh.server").setLevel(logging.ERROR)
    loop: Any = server.io_loop
    loop.asyncio_loop.set_exception_handler(_unless_closed)
    return server


def _unless_closed(loop: Any, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), WebSocketClosedError | StreamClosedError):
        loop.default_exception_handler(context)


def origins_of(address: str) -> set[str]:
    """Return the hosts whose pages may connect: the names and addresses of this server."""
    found = {address, "localhost", "127.0.0.1"} - set(EVERYWHERE)
    if address in EVERYWHERE:
        name = socket.gethostname()
        found |= {name, *(str(info[4][0]) for info in socket.getaddrinfo(name, None))}
    return {f"[{host}]" if ":" in host else host for host in found}


def without_port(host: str) -> str:
    """Return the host of a header; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def make_page() -> Any:
    """Return the page of a new session."""
    document: Any = pn.state.curdoc
    document.template = TEMPLATE
    return Page(sizing_mode="stretch_width", margin=0)


class Visitors(AuthProvider):
    """Admits visitors who request this server by its name, with its token if it has one.

    Another site may let its own name resolve to this machine (DNS rebinding) and pass as a page of
    the lab. The header Host still has that name.
    """

    def __init__(self, hosts: set[str], token: str | None):
        self._hosts, self._token = {host.lower() for host in hosts}, token
        super().__init__()

    @property
    def get_user(self) -> Any:
        """Return a function that names the visitor of a request, or returns None."""

        def user(request: Any) -> str | None:
            named = request.request.headers.get_list("Host")
            if len(named) != 1 or without_port(named[0].lower()) not in self._hosts:
                raise HTTPError(421, reason="This lab has another name")
            if self._token is None:
                return "visitor"
            given = request.get_argument("token", "")
            if hmac.compare_digest(given.encode(), self._token.encode()):
                request.set_secure_cookie(COOKIE, "visitor", httponly=True, samesite="Strict")
                return "visitor"
            return "visitor" if request.get_secure_cookie(COOKIE) else None

        return user

    @property
    def login_url(self) -> str:
        """Return the URL for visitors without the token."""
        return "/login"

    @property
    def login_handler(self) -> Any:
        """Return the handler of that URL."""
        return Login


class Login(RequestHandler):
    """Page for visitors without the token."""

    def get(self) -> None:
        """Refuse access."""
        self.set_status(403)
        self.write("This lab needs an access token: open its URL with ?token=TOKEN.")
