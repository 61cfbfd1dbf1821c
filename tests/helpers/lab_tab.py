"""A tab of a browser with the lab in it, and what went wrong there."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import expect

#: milliseconds to wait for the page
PATIENCE = 40_000
expect.set_options(timeout=PATIENCE)

#: go to an address of the page without loading it again; the number of the question that this asks,
#: which must be read before its answer leads to others
GO = """(lab, where) => {
  history.pushState(null, "", location.pathname + where);
  dispatchEvent(new PopStateEvent("popstate"));
  return Number(lab.dataset.asked);
}"""
#: the page shows the answer to a question, or to a later one
ANSWERED = """(lab, [asked, patience]) => new Promise((resolve, reject) => {
  const late = performance.now() + patience;
  const look = () => {
    if (Number(lab.dataset.proved) >= asked) resolve();
    else if (performance.now() > late) reject(new Error(`no answer to question ${asked}`));
    else requestAnimationFrame(look);
  };
  look();
})"""
#: open the whole page, or leave the first screen, and wait until it is laid out
MORE = """(lab, more) => {
  const button = lab.querySelector(".more-button");
  if ((button.getAttribute("aria-expanded") === "true") !== more) button.click();
  return new Promise((laid) => requestAnimationFrame(() => requestAnimationFrame(laid)));
}"""
#: what an address does not hold, as it was when the page was opened
RESET = """lab => {
  if (lab.classList.contains("lecture")) lab.querySelector(".stage-buttons").lastChild.click();
  while (lab.dataset.hides) lab.querySelector(".reveal").click();
  lab.querySelectorAll("details").forEach((node) => { node.open = false; });
  lab.querySelectorAll("dialog").forEach((node) => node.close());
  lab.querySelectorAll("textarea").forEach((node) => { node.value = ""; });
  lab.querySelector(".speed select").value = "30";
  lab.getRootNode().activeElement?.blur();
  const more = lab.querySelector(".more-button[aria-expanded=true]");
  if (more) more.click();
}"""


class Tab:
    """A tab of the browser, and what went wrong in it."""

    def __init__(self, context, lab):
        self.context, self.lab, self.page, self.faults = context, lab, context.new_page(), []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.set_default_timeout(PATIENCE)

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request):
        where = urlsplit(request.url)
        if where.scheme not in ("blob", "data", "file") and where.hostname != "127.0.0.1":
            self.faults.append(f"asked for {request.url}")

    def open(self, address="", more=True):
        """Open the lab at an address and wait for its first run and proof; then all of the page."""
        return self.visit(f"#{address}").show_more(more)

    def show_more(self, more=True):
        """Open or close settings, table, proof, weight space and exports."""
        self.page.locator(".lab").evaluate(MORE, more)
        return self

    def visit(self, where):
        """Open what follows the address of the lab: it is loaded the first time only."""
        asked = -1
        if self.page.url.startswith(self.lab):
            asked = self.page.locator(".lab").evaluate(GO, where)
        else:
            self.page.goto(self.lab + where)
        return self.ready(asked)

    def ready(self, asked=-1):
        """Wait until the page shows the answer to question ``asked``, or to its first one."""
        self.page.locator(".lab.begun[data-proved]").evaluate(ANSWERED, [asked, PATIENCE])
        return self

    def reset(self):
        """Make the tab what it was when it was opened."""
        self.page.locator(".lab").evaluate(RESET)
        self.press("Escape", "2")
        self.look(1280, 900, "light")
        return self

    def look(self, width, height, scheme):
        """Change the size of the window, and whether the page is light or dark."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=scheme)

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def count(self, name):
        return int(self.text(f"#count-{name}").replace(",", ""))

    def says(self, selector, text):
        """Assert that an element contains a text, at once or soon; returns all of its text."""
        element = self.page.locator(selector)
        expect(element).to_contain_text(text)
        return element.text_content()

    def goes_to(self, part):
        """Assert that the address contains a text, at once or soon; returns what follows #."""
        expect(self.page).to_have_url(re.compile(re.escape(part)))
        return self.page.url.partition("#")[2]

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
