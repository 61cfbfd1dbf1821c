"""The built site: no link is broken, no request goes to another host, and pages fit screens."""

import functools
import http.server
import subprocess
import sys
import threading
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from documents import ROOT

pytestmark = pytest.mark.thorough


class Links(HTMLParser):
    """The addresses and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.to, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors |= {of[key] for key in ("id", "name") if of.get(key)}
        self.to += [of[key] for key in ("href", "src") if of.get(key)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="`make site` installs Sphinx")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going",
         "--doctree-dir", folder / "trees", ROOT / "docs", folder / "html"],
        check=True,
    )  # fmt: skip
    return folder / "html"


def test_no_link_of_the_site_is_broken(site):
    ours = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Links(path.read_text("utf-8")) for path in ours}
    broken, outer = [], set()
    for path, links in pages.items():
        if "lab" in path.relative_to(site).parts:
            continue
        for link in links.to:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outer.add(parts.scheme)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (
                parts.fragment and target in pages and parts.fragment not in pages[target].anchors
            ):
                broken.append((path.relative_to(site).as_posix(), link))
    assert len(pages) > 150
    assert broken == []
    assert outer <= {"https", "http", "data", "mailto", "tcp"}


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_site_in_a_browser(site, browser, width, scheme):
    kind = http.server.SimpleHTTPRequestHandler
    quiet = type("Quiet", (kind,), {"log_message": lambda *_: None})
    answers = functools.partial(quiet, directory=site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.append(request.url))
    try:
        for name in ("index", "start/output", "reference/commands", "gallery/index",
                     "reference/generated/linsep.Perceptron", "explanation/speed"):  # fmt: skip
            page.goto(f"{home}{name}.html")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    finally:
        page.close()
        server.shutdown()
        server.server_close()
    assert said == []
    assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == []
