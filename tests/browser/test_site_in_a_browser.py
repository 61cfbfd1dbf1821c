"""Pages of the built site and of a server in a browser."""

import functools
import http.server
import json
import subprocess
import sys
import threading
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

import linsep
from documents import ROOT
from served import TOKEN, serving

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]


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
    ours = (path for path in site.rglob("*.html") if not {"_static", "lab"} & set(path.parts))
    pages = {path: Links(path.read_text("utf-8")) for path in ours}
    broken, outer = [], set()
    for path, links in pages.items():
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
        for name in ("index", "start/output", "reference/command-line", "gallery/index",
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


def test_the_page_sends_requests_and_asks_nobody_else(browser, tmp_path):
    X = [[4.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-2.0, -2.0]]
    model = linsep.Perceptron(shuffle=False).fit(X, ["+", "-", "-", "+"])
    path = linsep.save(model, tmp_path / "m.linsep")
    with serving(path, token=TOKEN, log=tmp_path / "rows.log") as client:
        page = browser.new_page()
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"http://127.0.0.1:{client.port}/")
        expect(page.locator("#about")).to_contain_text("This server needs a token")
        assert [text for text in said if "401" not in text] == []
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("linsep serve: Perceptron")
        predict = page.locator("details").first
        predict.get_by_label("explanations").check()
        predict.get_by_role("textbox").fill(json.dumps({"rows": X}))
        predict.get_by_role("button", name="Send").click()
        expect(predict.locator("pre")).to_contain_text('"predictions": [ "+", "-", "-", "+" ]')
        expect(predict.locator("pre")).to_contain_text('"score_of"')
        predict.get_by_role("textbox").fill('{"rows": [[1]]}')
        predict.get_by_role("button", name="Send").click()
        expect(predict.locator(".bad")).to_contain_text("422")
        learn = page.locator("details", has_text="/learn")
        learn.locator("summary").click()
        learn.get_by_role("button", name="Send").click()
        expect(learn.locator("pre")).to_contain_text('"learned": 1')
        assert {url.split("/")[2] for url in asked} == {f"127.0.0.1:{client.port}"}
        assert not any(TOKEN in url for url in asked)
        page.close()
