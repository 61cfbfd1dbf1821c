"""Transcripts: commands and Python, each followed by what it printed when it was recorded.

A step begins with ``$ `` (a command: ``linsep ...``, or ``show FILE ...``, which prints files that
commands wrote) or with ``>>> `` (Python; its value is printed). Lines that begin with ``##`` before
the first step say what is recorded; ``## digits: 10`` there lets numbers differ beyond ten digits.
"""

import ast
import contextlib
import enum
import io
import json
import math
import re
import shlex
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyarrow import parquet
from safetensors import safe_open

import linsep
from command_line import here

STEP = re.compile(r"^(?=\$ |>>> )", re.M)
ESTIMATORS = (
    "Perceptron", "MarginPerceptron", "PassiveAggressive", "Winnow", "BalancedWinnow",
    "KernelPerceptron", "LinearRegression", "LogisticRegression", "GaussianNaiveBayes",
)  # fmt: skip
#: attributes that say where a fit stands or hold more than they print
OBJECTS = ("progress_", "covariance_", "solution_")
#: times, and what depends on them or on the machine
CHANGING = (
    (re.compile(r"^(time +).*(\n +.*)*$", re.M), r"\1..."),
    (re.compile(r"^(linsep) +\d+\.\d+.*$", re.M), r"\1 ..."),
    (re.compile(r'("(?:\w*_)?(?:seconds|time|total|read|learn)": )[-\d.e]+'), r"\1..."),
    (re.compile(r"\d+\.\d+(e-\d+)? s\b"), "... s"),
    (re.compile(r"(\.parquet, \d+ rows, )[\d.]+ kB"), r"\1... kB"),  # by the release of pyarrow
    (re.compile(r'("saved": |"version": |"linsep": |"created": )"[^"]*"'), r"\1..."),
    (re.compile(re.escape(linsep.__version__)), "VERSION"),
)
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


class Step(NamedTuple):
    """What is done, as it stands in the transcript, and what it printed."""

    words: str
    printed: str


def parse(text):
    """The lines before the first step, and the steps."""
    about, *parts = STEP.split(text)
    return about, [_step(part) for part in parts]


def _step(part):
    lines = part.splitlines()
    length = 1
    while part.startswith(">>>") and lines[length : length + 1] and lines[length][:4] == "... ":
        length += 1
    return Step("\n".join(lines[:length]), "\n".join(lines[length:]).strip("\n"))


def run(text, folder):
    """The same transcript with what its steps print now."""
    about, steps = parse(text)
    names = {"np": np, "linsep": linsep, "show": show, "fitted": fitted, "CtrlC": CtrlC}
    names |= {name: getattr(linsep, name) for name in ESTIMATORS}
    made = []
    for step in steps:
        with contextlib.chdir(folder):
            printed = _python(step.words, names) if step.words[0] == ">" else _command(step.words)
        printed = printed.replace(str(folder), "FOLDER")
        for pattern, instead in CHANGING:
            printed = pattern.sub(instead, printed)
        lines = [line.rstrip() for line in printed.splitlines()]
        made.append(f"{step.words}\n" + "".join(f"{line}\n" for line in lines))
    return about + "\n".join(made)


def fitted(model):
    """All public fitted attributes as text, in the order of their names, and the table."""
    lines = []
    for name in sorted({*dir(type(model)), *vars(model)}):
        if name.endswith("_") and not name.startswith("_") and name not in OBJECTS:
            with contextlib.suppress(AttributeError):  # of another kind of fit
                lines.append(f"{name}: {written(getattr(model, name))}\n")
    if hasattr(model, "summary"):
        lines.append(f"summary: {model.summary()}\n")
    return "".join(lines)


class CtrlC:
    """A callback that presses Ctrl-C at the end of a pass."""

    def __init__(self, number):
        self.number = number

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, **given):
        if context.parent is not None and context.task_id == self.number:
            raise KeyboardInterrupt


def _command(words):
    program, *arguments = shlex.split(words[2:])
    if program == "show":
        return "".join(show(name) for name in arguments)
    assert program == "linsep", words
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = here(*arguments, cwd=".")
    said = done.stdout
    if done.stderr:
        said += "".join(f"! {line}\n" for line in done.stderr.splitlines())
    return said + (f"[exit {done.returncode}]\n" if done.returncode else "")


def _python(words, names):
    """What the statement prints, its value, and what it warns of or raises."""
    code = "\n".join(line[4:] for line in words.splitlines())
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            (node,) = ast.parse(code).body
            if isinstance(node, ast.Expr):
                value = eval(compile(ast.Expression(node.value), "step", "eval"), names)
                if value is not None:
                    print(written(value))
            else:
                exec(compile(code, "step", "exec"), names)
        except (Exception, KeyboardInterrupt):
            print("! " + traceback.format_exc(limit=0).splitlines()[-1])
    return out.getvalue() + "".join(f"! {w.category.__name__}: {w.message}\n" for w in warned)


def written(value):
    """A value as text with all its digits."""
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{list(value.shape)} {json.dumps(value.tolist(), default=str)}"
    if isinstance(value, dict):
        return "\n".join(f"{key}: {written(value[key])}" for key in value)
    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
        return "\n".join(written(part) for part in value)
    if isinstance(value, enum.Enum):
        return value.name
    return str(value)


def show(name):
    """The content of a file as text."""
    path = Path(name)
    if path.suffix == ".linsep":
        return _model_file(path)
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        return f"{table.schema.remove_metadata()}\n" + "".join(
            json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in table.to_pylist()
        )
    return path.read_text("utf-8")


def _model_file(path):
    """The description in a model file, a line a field, and its arrays."""
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["linsep"])
        arrays = {key: file.get_tensor(key) for key in sorted(file.keys())}
    lines = [f'"{key}": {json.dumps(about[key], ensure_ascii=False)}\n' for key in about]
    return "".join(lines) + "".join(f"{key} = {written(arrays[key])}\n" for key in arrays)


def difference(recorded, now, digits):
    """What differs first, or None; numbers may differ beyond so many digits, if any are given."""
    _, old = parse(recorded)
    _, new = parse(now)
    for was, step in zip(old, new, strict=True):
        if not same(was.printed, step.printed, digits):
            return f"{step.words}\n--- recorded\n{was.printed}\n--- now\n{step.printed}"
    return None


def same(was, now, digits):
    """Whether two texts are the same but for digits beyond those given."""
    if digits is None or was == now:
        return was == now
    if NUMBER.sub("#", " ".join(was.split())) != NUMBER.sub("#", " ".join(now.split())):
        return False
    pairs = zip(NUMBER.findall(was), NUMBER.findall(now), strict=True)
    return all(
        a == b or math.isclose(float(a), float(b), rel_tol=10.0**-digits, abs_tol=1e-13)
        for a, b in pairs
    )
