"""The lab on a static host: Python's own web server of files, and no other host."""

import json
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from lab_tab import Tab
from same_answers import differences, messages
from thoroughness import THOROUGH

pytestmark = [pytest.mark.compiled, pytest.mark.thorough]

#: answers of a worker of its own, in the order of the messages
ASKED = """messages => new Promise((resolve, reject) => {
  const worker = new Worker("worker.js", { type: "module" });
  const answers = [];
  worker.onmessage = ({ data }) => {
    if (data.kind === "failed") reject(new Error(data.fault));
    if (data.kind === "ready") return;
    answers.push(data);
    if (answers.length === messages.length) resolve(JSON.stringify(answers));
  };
  messages.forEach((message) => worker.postMessage(message));
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a folder that the command wrote, served by Python's web server."""
    pytest.importorskip("linsep_pyodide", reason="npm's registry gave no Pyodide")
    folder = tmp_path_factory.mktemp("static") / "site"
    command = [sys.executable, "-W", "error", "-m", "linsep", "lab", "--static", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    serving = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    server = subprocess.Popen(
        serving, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    port = re.search(r"port (\d+)", server.stdout.readline())[1]
    yield f"http://127.0.0.1:{port}/"
    server.terminate()
    server.wait(timeout=20)
    server.stdout.close()


@pytest.fixture
def static_tab(browser, site):
    """A tab whose requests to other hosts are refused, and found to be faults."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.route(
        "**/*",
        lambda route: route.continue_() if route.request.url.startswith(site) else route.abort(),
    )
    tab = Tab(context, site)
    yield tab
    context.close()
    assert tab.faults == []


def python_is_there(tab):
    """Wait until the worker has loaded Python."""
    expect(tab.page.locator("#python")).to_contain_text("linsep lab", timeout=60_000)
    return tab


def test_the_first_picture_needs_no_python_and_the_rest_no_network(static_tab):
    tab, held = static_tab, []
    tab.context.route("**/pyodide.asm.wasm", lambda one: held.append(one))  # noqa: PLW0108
    with tab.page.expect_request("**/pyodide.asm.wasm"):
        tab.page.goto(tab.lab)
    tab.page.locator(".lab.begun .dot").first.wait_for(state="attached")
    assert tab.page.evaluate("performance.now()") < 5000
    tab.show_more()
    expect(tab.page.locator("#python")).to_contain_text("Python is loading")
    tab.show_more().press("ArrowRight", "ArrowRight")
    assert tab.count("round") == 2
    with tab.page.expect_event("requestfinished", lambda one: one.url.endswith(".wasm")):
        held[0].continue_()
    python_is_there(tab)
    tab.context.set_offline(True)  # nothing more is fetched
    before = tab.page.locator(".dot").count()
    box = tab.page.locator(".plane .frame svg").first.bounding_box()
    tab.page.mouse.click(box["x"] + 40, box["y"] + 40)
    expect(tab.page.locator(".dot")).to_have_count(before + 1)
    assert "points=" in tab.goes_to("points=")


def test_pyodide_answers_as_the_server_does(static_tab):
    """On 200 scenes in `make test-thorough`: rational rules to the bit, others to 12 digits."""
    static_tab.page.goto(static_tab.lab)
    known = messages(200 if THOROUGH else 36, seed=1)
    answers = json.loads(static_tab.page.evaluate(ASKED, [question for _, question in known]))
    faults = [
        (question["scene"]["settings"]["learner"], question["kind"], found[:3])
        for (rational, question), answer in zip(known, answers, strict=True)
        if (found := differences(rational, question, answer))
    ]
    assert faults == []
