"""How long the frames of the lab take in a browser: 200 points, 2,000 rounds, played."""

import random
import shutil
import subprocess
import sys

#: title, settings of the address
SCENES = {
    "a line": "",
    "all four lines": "&keep=average",
    "votes": "&keep=vote",
    "four classes": "&classes=ovr",
    "kernel": "&learner=kernel&width=0.5",
}
#: Play from the start; collect the times between frames until the last round is reached.
PLAY = """async () => {
  const gaps = [];
  let before = null;
  const find = (root, selector) => {
    const found = root.querySelector(selector);
    if (found) return found;
    for (const one of root.querySelectorAll('*')) {
      const inside = one.shadowRoot && find(one.shadowRoot, selector);
      if (inside) return inside;
    }
    return null;
  };
  const [play, round] = [find(document, '.play'), find(document, '#count-round')];
  play.click();
  while (round.textContent !== '2,000' && gaps.length < 2000) {
    const now = await new Promise(requestAnimationFrame);
    if (before !== null) gaps.push(now - before);
    before = now;
  }
  return gaps;
}"""


def points(classes: int) -> str:
    """Return 200 overlapping points of so many classes as a part of an address."""
    rng = random.Random(0)
    centers = [(0, 0), (1.5, 1), (-1.5, 1.5), (1, -2)]
    drawn = [(k % classes, centers[k % classes]) for k in range(200)]
    return ";".join(
        f"{x + rng.gauss(0, 1):.2f},{y + rng.gauss(0, 1):.2f},{c}" for c, (x, y) in drawn
    )


def main() -> None:
    """Print a line per scene: the median, the 95th percentile and the longest frame."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "linsep", "lab", "--no-browser", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[1]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            for title, settings in SCENES.items():
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                classes = 4 if "classes" in title else 2
                page.goto(f"{url}#points={points(classes)}&rounds=2000{settings}")
                page.wait_for_selector(".lab.begun[data-proved]")
                if title == "all four lines":
                    page.get_by_label(title).check()
                page.get_by_label("Speed").select_option("200")
                gaps = sorted(page.evaluate(PLAY))
                middle, high = gaps[len(gaps) // 2], gaps[int(0.95 * len(gaps))]
                print(f"{title:22} frames {len(gaps):4}, median {middle:5.1f} ms, 95% below "
                      f"{high:5.1f} ms, longest {gaps[-1]:5.1f} ms")  # fmt: skip
                page.close()
            browser.close()
    finally:
        server.terminate()
        server.communicate()
