"""Lessons: Markdown files of short steps with a scene, a question and an answer."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from linsep.errors import DataError
from linsep.lab.declared import OWN_LESSON, SERVED
from linsep.lab.scene_sources import scene_of_url

#: the lessons of the package, in the order of the course
LESSONS = ("perceptron", "margin", "support-vectors", "kernels", "regression", "several-classes")
#: lessons that a teacher wrote, by name
OWN: dict[str, dict[str, Any]] = {}
MOST_CHARACTERS, MOST_STEPS = 200_000, 100
_SCENE = re.compile(r"\[([^\]]*)\]\(#([^)\s]*)\)")
_INLINE = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*]+)\*|`(?P<code>[^`]+)`")


def lesson(name: Any) -> dict[str, Any]:
    """Return a lesson by its name; DataError for an unknown name."""
    if isinstance(name, str) and name in OWN:
        return OWN[name]
    if name not in LESSONS:
        raise DataError(
            f"There is no lesson {str(name)[:40]!r}: choose {', '.join(LESSONS)}.",
            code="bad-scene",
            value=name,
        )
    return _of_package(name)


@cache
def _of_package(name: str) -> dict[str, Any]:
    text = (files("linsep.lab") / "lessons" / f"{name}.md").read_text(encoding="utf-8")
    return {"name": name, **parsed(text, f"{name}.md")}


def own_lesson(path: Path) -> str:
    """Read the user's own lesson; return its name in URLs."""
    from linsep.sources.remote.file import no_file  # not in a browser

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text.", code="encoding", path=path) from None
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as problem:
        raise DataError(
            f"{path} cannot be read: {problem.strerror}.", code="cannot-read", path=path
        ) from None
    OWN["own"] = {"name": "own", **parsed(text, str(path))}
    return "own"


def titles() -> list[dict[str, str]]:
    """Return the names and titles of the lessons on the page, a teacher's lessons first."""
    return [{"name": name, "title": lesson(name)["title"]} for name in (*OWN, *LESSONS)
            if SERVED or _needs_no_fit(lesson(name))]  # fmt: skip


def _needs_no_fit(lesson: dict[str, Any]) -> bool:
    """Return whether all scenes of a lesson are runs."""
    return all(scene_of_url(step["url"])["room"] == "classes" for step in lesson["steps"])


def parsed(text: str, where: str) -> dict[str, Any]:
    """Return the title and steps of a lesson; DataError names the invalid step.

    ``# title``, then for each step ``## title``, a link to a scene as its first paragraph,
    ``[scene](#data=xor)``, with "More" in its text if the step needs all of the page, paragraphs
    with ``**bold**``, ``*italic*`` and `` `code` ``, and as quotes (``> ...``) what is shown when
    the reader answers, or asks for the answer.
    """
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"{where} has {len(text):,} characters: a lesson has at most {MOST_CHARACTERS:,}.",
            code="too-large",
        )
    head, *parts = re.split(r"^## +", text, flags=re.MULTILINE)
    title = re.match(r"\s*# +(\S.*)", head)
    if title is None or not 1 <= len(parts) <= MOST_STEPS:
        raise DataError(
            f"{where} is not a lesson: it needs a line '# title', and 1 to {MOST_STEPS} steps that "
            "begin with a line '## title'.",
            code="bad-scene",
        )
    steps = [_step(part, f"{where}, step {number}") for number, part in enumerate(parts, start=1)]
    return {"title": title[1].strip(), "steps": steps}


def _step(text: str, where: str) -> dict[str, Any]:
    """Return the title, the URL and the paragraphs of a step."""
    title, _, rest = text.partition("\n")
    scene = _SCENE.search(rest)
    if scene is None:
        raise DataError(
            f"{where} has no setup: add a link such as [setup](#data=xor).", code="bad-scene"
        )
    try:
        scene_of_url(scene[2])
    except DataError as problem:
        raise DataError(
            f"{where} has an invalid setup. {problem}", code=problem.code, **problem.fields
        ) from None
    body = rest[: scene.start()] + rest[scene.end() :]
    blocks = [block.strip() for block in re.split(r"\n\s*\n", body) if block.strip()]
    return {"title": title.strip(), "url": scene[2], "more": "More" in scene[1],
            "body": [_block(block) for block in blocks]}  # fmt: skip


def _block(text: str) -> dict[str, Any]:
    """Return a paragraph, or an answer, as pieces of (style, text)."""
    answer = text.startswith(">")
    lines = [line.removeprefix(">").strip() if answer else line.strip()
             for line in text.splitlines()]  # fmt: skip
    return {"kind": "answer" if answer else "text", "pieces": _pieces(" ".join(lines))}


def _pieces(text: str) -> list[list[str]]:
    found, place = [], 0
    for match in _INLINE.finditer(text):
        if match.start() > place:
            found.append(["", text[place : match.start()]])
        found.append([str(match.lastgroup), match[match.lastgroup or 0]])
        place = match.end()
    return [*found, ["", text[place:]]] if place < len(text) else found


if OWN_LESSON:
    OWN["own"] = {"name": "own", **parsed(OWN_LESSON, "The lesson")}
