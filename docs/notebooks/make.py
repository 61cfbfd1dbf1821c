"""Make the students' notebooks from the teachers' notebooks.

Run ``python docs/notebooks/make.py``, with names to select notebooks. The notebooks in
``solutions/`` are the source; edit them in Jupyter. The program runs them and writes them back with
outputs that do not depend on where and when they ran. Then it removes ``: solutions`` from the
title and every line between ``### BEGIN SOLUTION`` and ``### END SOLUTION``, or the same with
``HIDDEN TESTS``, the markers of nbgrader, and runs and writes the rest, where checks raise
WrongAnswer: to ``lectures/`` if the name begins with a digit, else to ``cases/``. It needs
nbclient, nbformat and ipykernel.

``--course FOLDER`` writes assignments of nbgrader instead, and runs nothing: each notebook, with
its solutions, to ``source/NAME/NAME.ipynb`` in this folder of a course, without ``: solutions`` in
its title and without links to files that students do not have. ``nbgrader_config.py``, unless there
is one, says that nothing stands for a solution: the dots of the exercise remain.
"""

import argparse
import base64
import copy
import json
import os
import re
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: the lines that students do not get: the end of each kind by its beginning
KINDS = ("SOLUTION", "HIDDEN TESTS")
MARKERS = {f"### BEGIN {kind}": f"### END {kind}" for kind in KINDS}
#: what the titles of the notebooks with solutions end in
SUFFIX = ": solutions"
#: a link to a file, in a notebook
LINK = re.compile(r"\[([^\]]*)\]\([^):]+\)")
#: for courses
CONFIG = """c = get_config()
# The dots of an exercise remain; by default "raise NotImplementedError()" follows them.
c.ClearSolutions.code_stub = {"python": ""}
"""
#: metadata of every notebook, whatever Jupyter it was edited in
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
#: colors of a picture: the most that keep it below so many bytes, a third of matplotlib's size
COLORS, MOST_BYTES = (128, 64, 32, 16), 40_000


def solutions() -> list[Path]:
    """Return the files of the notebooks with solutions, in order."""
    return sorted((HERE / "solutions").glob("*.ipynb"))


def students_path(path: Path) -> Path:
    """Return the path of the notebook without the solutions of ``path``."""
    return HERE / ("lectures" if path.name[0].isdigit() else "cases") / path.name


def text_of(lines: str | list[str]) -> str:
    """Return text that a notebook holds as one string or as lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def without_suffix(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with the title of the students' notebook."""
    result = copy.deepcopy(notebook)
    title = result["cells"][0]["source"]
    title[0] = title[0].replace(SUFFIX, "")
    return result


def assignment(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy for nbgrader: the students' title, and the text of links to files."""
    result = without_suffix(notebook)
    for cell in result["cells"]:
        if cell["cell_type"] == "markdown":
            text = LINK.sub(r"\1", text_of(cell["source"]))
            cell["source"] = text.splitlines(keepends=True)
    return result


def without_solutions(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy without the suffix, the lines between markers, and outputs."""
    result = without_suffix(notebook)
    for cell in result["cells"]:
        kept, end = [], ""
        for line in text_of(cell["source"]).splitlines(keepends=True):
            mark = line.strip()
            if end and mark == end:
                end = ""
            elif mark in MARKERS and not end:
                end = MARKERS[mark]
            elif mark in MARKERS or mark in MARKERS.values():
                raise SystemExit(f"cell {cell['id']}: {mark} without its counterpart")
            elif not end:
                kept.append(line)
        if end:
            raise SystemExit(f"cell {cell['id']}: no {end}")
        cell["source"] = "".join(kept).rstrip("\n").splitlines(keepends=True)
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return result


def with_fewer_colors(picture: str) -> str:
    """Return a PNG, in base64, with a palette, so that it is short."""
    from PIL import Image

    image = Image.open(BytesIO(base64.b64decode(picture))).convert("RGB")
    for colors in COLORS:
        file = BytesIO()
        # this method keeps the colors of a few pixels, such as a mark
        fewer = image.quantize(colors, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        fewer.save(file, format="PNG", optimize=True)
        if file.tell() <= MOST_BYTES:
            break
    return base64.b64encode(file.getvalue()).decode()


def cleaned(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with outputs that do not depend on where the notebook ran."""
    result = copy.deepcopy(notebook) | {"metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    for cell in result["cells"]:
        cell["metadata"].pop("execution", None)
        cell["source"] = text_of(cell["source"]).splitlines(keepends=True)
        if cell["cell_type"] != "code":
            continue
        cell["execution_count"] = None
        for output in cell["outputs"]:
            if output.get("name") == "stderr":  # a warning shows a path of this machine
                raise SystemExit(f"cell {cell['id']} warns: {text_of(output['text'])}")
            if "execution_count" in output:
                output["execution_count"] = None
            data = output.get("data", {})
            if "image/png" in data:  # its text has the memory address of an object
                data.pop("text/plain", None)
                data["image/png"] = with_fewer_colors(text_of(data["image/png"]))
                output["metadata"] = {}
    return result


def run(notebook: dict[str, Any], *allowed: str) -> dict[str, Any]:
    """Return the notebook with the outputs of a new kernel in an empty folder, cleaned; cells may
    raise the ``allowed`` errors.
    """
    import nbclient
    import nbformat

    os.environ.pop("MPLBACKEND", None)  # another backend may show no pictures
    parsed = nbformat.reads(json.dumps(notebook), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(
            parsed, timeout=600, kernel_name="python3", resources=resources, coalesce_streams=True,
            allow_error_names=allowed,
        ).execute()  # fmt: skip
    return cleaned(json.loads(nbformat.writes(parsed)))


def read(path: Path) -> dict[str, Any]:
    """Return the notebook in a file."""
    return json.loads(path.read_text("utf-8"))


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Write a notebook as Jupyter does, so that differences are few."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Run and write the notebooks named, or all; or write assignments."""
    parser = argparse.ArgumentParser(description="Make the students' notebooks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as text; default: all")
    parser.add_argument(
        "--course", type=Path, metavar="FOLDER", help="write assignments of nbgrader"
    )
    given = parser.parse_args()
    for path in solutions():
        if given.names and path.stem not in given.names:
            continue
        print(path.stem, flush=True)
        if given.course:
            write_assignment(path, given.course)
        else:
            write(path, run(read(path)))
            write(students_path(path), run(without_solutions(read(path)), "WrongAnswer"))


def write_assignment(path: Path, course: Path) -> None:
    """Write the assignment of a notebook into the folder of a course, and its configuration."""
    folder = course / "source" / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / path.name, assignment(read(path)))
    if not (config := course / "nbgrader_config.py").exists():
        config.write_text(CONFIG, encoding="utf-8")


if __name__ == "__main__":
    main()
