"""One server and one browser for all tests of the lab, and pages that fail on any console error.

Debian's Chromium is used (apt-get install chromium): nothing is downloaded.
"""

import os
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
MISSING = "no Chromium: apt-get install chromium brings the browser that these tests need"


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window; without one installed its tests are skipped, or fail in CI.

    It ends with its module, because Playwright runs an event loop in this thread until then.
    """
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("LINSEP_NEEDS_BROWSER") else pytest.skip)(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def lab():
    """The address of a lab that runs as the command does, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "linsep", "lab", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    if line.startswith("lab "):
        yield line.split()[1]
        server.terminate()
    _, said = server.communicate(timeout=20)
    assert said == ""


class Tab:
    """A tab of the browser, and what went wrong in it."""

    def __init__(self, context, lab):
        self.context, self.lab, self.page, self.faults = context, lab, context.new_page(), []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.set_default_timeout(8000)

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request):
        where = urlsplit(request.url)
        if where.scheme not in ("blob", "data", "file") and where.hostname != "127.0.0.1":
            self.faults.append(f"asked for {request.url}")

    def open(self, address=""):
        """Open the lab at an address and wait for its first run and proof."""
        self.page.goto(f"{self.lab}#{address}")
        return self.ready()

    def ready(self):
        self.page.wait_for_selector(".lab.begun[data-proved]")
        return self

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def count(self, name):
        return int(self.text(f"#count-{name}").replace(",", ""))

    def says(self, selector, text):
        """Wait until an element contains a text."""
        self.page.locator(selector).filter(has_text=text).wait_for()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def click(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def point(self, number):
        """The middle of a point on the screen; points are counted from 1."""
        return self.page.locator(f".dot[data-point='{number - 1}'] .mark").evaluate(
            "node => { const box = node.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; }"
        )

    def drag(self, number, dx, dy):
        x, y = self.point(number)
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + dx / 2, y + dy / 2, steps=3)
        mouse.move(x + dx, y + dy, steps=3)
        mouse.up()


@pytest.fixture
def new_tab(browser, lab):
    """A function that opens tabs, each with cookies and storage of its own."""
    tabs = []

    def opened(*, width=1280, height=900, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, **options
        )
        tabs.append(Tab(context, lab))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.context.close()
        assert tab.faults == []


@pytest.fixture
def tab(new_tab):
    """A tab with the lab, 1,280 wide."""
    return new_tab()
