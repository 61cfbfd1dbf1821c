"""One lab and one Chromium for all tests of this folder; pages fail on any console error.

Debian's Chromium is used (apt-get install chromium): nothing is downloaded. Fixtures of the package
end with it, because Playwright runs an event loop in this thread until then.
"""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

from lab_tab import Tab
from linsep.lab import lab_file

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
MISSING = "no Chromium: apt-get install chromium brings the browser that these tests need"


@pytest.fixture(scope="package")
def browser():
    """A Chromium without a window; without one installed its tests are skipped, or fail in CI."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("LINSEP_NEEDS_BROWSER") else pytest.skip)(MISSING)
    with sync_playwright() as playwright:
        # without a graphics card; some releases of Playwright leave Chromium to warn of that
        how = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=how)
        yield started
        started.close()


@pytest.fixture(scope="package")
def lab(tmp_path_factory):
    """The address of the file that the command writes, opened from the disk."""
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(lab_file(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def new_tab(browser, lab):
    """A function that opens tabs, each with cookies and storage of its own."""
    tabs = []

    def opened(*, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        tabs.append(Tab(context, lab))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.context.close()
        assert tab.faults == []


@pytest.fixture(scope="package")
def shared_tab(browser, lab):
    """A tab that stays open."""
    tab = Tab(browser.new_context(), lab)
    yield tab
    tab.context.close()


@pytest.fixture
def tab(shared_tab):
    """A tab with the lab, 1,280 wide, as if just opened."""
    if not shared_tab.page.url.startswith(shared_tab.lab):
        shared_tab.open()
    yield shared_tab.reset()
    faults, shared_tab.faults = shared_tab.faults, []
    assert faults == []
