"""The engine of the lab, run by the Node that Playwright brings, and its scenes beside Python."""

import atexit
import json
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from playwright._impl._driver import compute_driver_executable

from linsep.lab.file import LESSONS, joined, ready_points

#: reads lines of questions and writes lines of answers
PROGRAM = """
const file = %s;
answer({ kind: "file", file });
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(answer(JSON.parse(line))));
});
"""


@cache
def data():
    """What the file of the lab brings to its engine."""
    lessons = {n: (files("linsep.lab") / f"lessons/{n}.md").read_text("utf-8") for n in LESSONS}
    return {"first": "data=first-steps", "ready": ready_points(), "lessons": lessons}


def program_of(also):
    """The engine, which answers lines; ``also`` are further lessons by name."""
    file = data() | {"lessons": data()["lessons"] | also}
    return joined("engine/answer") + PROGRAM % json.dumps(file)


@cache
def engine():
    """The process that answers all questions that need no further lessons."""
    node, _ = compute_driver_executable()
    folder = TemporaryDirectory()
    path = Path(folder.name) / "engine.cjs"
    path.write_text(program_of({}), encoding="utf-8")
    running = subprocess.Popen(
        [node, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )

    def end():
        running.communicate()
        folder.cleanup()

    atexit.register(end)
    return running


def answers(questions, also=None):
    """The answers to questions; ``also`` are further lessons by name."""
    lines = [json.dumps(one) + "\n" for one in questions]
    if also:
        return run_javascript(program_of(also), "".join(lines))
    found = []
    for line in lines:
        engine().stdin.write(line)
        engine().stdin.flush()
        found.append(json.loads(engine().stdout.readline()))
    return found


def run_javascript(program, given=""):
    """The lines of JSON that a program prints."""
    node, _ = compute_driver_executable()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "engine.cjs"
        path.write_text(program, encoding="utf-8")
        done = subprocess.run(
            [node, str(path)], input=given, text=True,
            capture_output=True, check=True, encoding="utf-8",
        )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer(**question):
    """The answer to one question."""
    return answers([question])[0]


def opened(*urls):
    """The answers to URLs of scenes."""
    return answers([{"kind": "open", "url": url} for url in urls])


def random_urls(count, seed=0):
    """URLs of scenes as a person may make them, and worse: repeated points, ties, huge and tiny
    coordinates, one to four classes, any learner and setting.
    """
    random, fields = (
        Random(seed),
        {one["name"]: one for one in answer(kind="open", url="")["fields"]},
    )
    learners = fields["learner"]["choices"]
    return [_random_url(random, learners[k % len(learners)], fields) for k in range(count)]


def scene_urls(count, seed):
    """URLs of so many random scenes, and of all steps of all lessons."""
    lessons = [answer(kind="lesson", name=name)["lesson"] for name in data()["lessons"]]
    return random_urls(count, seed) + [step["url"] for one in lessons for step in one["steps"]]


def _random_url(random, learner, fields):
    n, k = random.choice([2, 3, 5, 9, 20, 60]), random.choice([2, 2, 2, 3, 4])
    grid, unit = random.choice([1, 3, 10, 1000]), random.choice([1, 1, 1, 0.1, 1e-7, 900])
    low = 0 if learner == "winnow" else -grid
    places = [[random.randint(low, grid) * unit for _ in range(2)] for _ in range(n)]
    lines = [[random.uniform(-1, 1) for _ in range(3)] for _ in range(k)]
    separable = random.random() < 0.6

    def code(x, y):
        scores = [a * x + b * y + c * unit for a, b, c in lines]
        return int(np.argmax(scores)) if separable else random.randrange(k)

    points = [(*place, c) for c, place in enumerate(places[:k])]
    points += [(x, y, code(x, y)) for x, y in places[k:]]
    settings = {"learner": learner, "rounds": random.choice([1, 17, 60, 250])}
    for name, one in fields.items():
        if "classes" not in one["rooms"] or name in ("learner", "rounds", "room"):
            continue
        if random.random() < 0.4:
            settings[name] = _random_value(random, one)
    shown = {True: "yes", False: "no"}
    texts = [f"{name}={shown[v] if isinstance(v, bool) else v}" for name, v in settings.items()]
    return "&".join(["points=" + ";".join(f"{x},{y},{c}" for x, y, c in points), *texts])


def _random_value(random, one):
    if one["kind"] == "yes or no":
        return random.random() < 0.5
    if one["kind"] == "choice":
        return random.choice(one["choices"])
    if one["size"] > 1:
        return ",".join(str(random.choice([0, -1, 0.5, 1, 2])) for _ in range(one["size"]))
    values = [
        one["low"],
        min(one["high"], 2),
        random.uniform(0.1, 0.9),
        *filter(None, [one["word"]]),
    ]
    value = random.choice(values)
    fits = isinstance(value, str) or one["low"] <= value <= one["high"]
    return one["low"] if not fits else int(value) or one["low"] if one.get("whole") else value


def run_script(text):
    """What the script of a scene prints, and its names."""
    said, names = [], {}
    exec(
        compile(text, "script", "exec"), names | {"print": lambda *parts: said.append(parts)}, names
    )
    return said, names


#: learners whose rules are sums, products and quotients
RATIONAL = ("perceptron", "batch")


def path(run, name="weights"):
    return np.array(run[name]).reshape(-1, max(1, len(run["vectors"])), 3)


def close(found, wanted, tolerance):
    size = np.abs(wanted).max(initial=0.0)
    # whole numbers beyond 64 bits are objects
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), wanted, rtol=tolerance, atol=tolerance * size
    )


def _run_as_in_python(shown, script):
    """Assert that a run is the one that its script makes with the library."""
    run, chosen = shown["run"], shown["scene"]["settings"]
    (_, names) = run_script(script["text"])
    kept = 0.0 if chosen["learner"] in RATIONAL and chosen["schedule"] != "inverse_sqrt" else 1e-12
    if chosen["learner"] == "kernel":
        model = names["model"]
        duals = np.zeros((max(1, len(run["vectors"])), len(shown["scene"]["points"])))
        for changes in run["duals"]:
            for vector, row, change in np.reshape(changes, (-1, 3)):
                duals[int(vector), int(row)] += change
        if run["reason"] == "converged":
            assert sum(run["updates"]) == model.n_updates_
            close(duals[:, model.support_], model.dual_coef_, 1e-12)
        return
    trace = names["rounds"]
    assert run["rounds"] == len(trace)
    assert run["row"] == [int(one.row) for one in trace]
    assert run["mistakes"] == [one.mistakes for one in trace]
    reason = "cut" if trace.stop_reason is None else str(trace.stop_reason)
    assert run["reason"] == reason
    wanted = np.array([trace.start, *(one.weights for one in trace)], dtype=float)
    if kept:
        close(path(run), wanted, kept)
    else:
        np.testing.assert_array_equal(path(run), wanted)


def run_as_in_python(urls, shown):
    """Assert that the runs among the answers to URLs are those of the library."""
    shown = [one for one in shown if one["run"]]
    assert len(shown) > 0.6 * len(urls)
    scripts = answers([{"kind": "script", "scene": one["scene"]} for one in shown])
    for one, script in zip(shown, scripts, strict=True):
        try:
            _run_as_in_python(one, script)
        except AssertionError as problem:
            raise AssertionError(f"{one['url']}\n{problem}") from None
