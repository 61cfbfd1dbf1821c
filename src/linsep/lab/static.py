"""The lab as a folder of files for any static host; Pyodide runs its Python in the browser.

The modules of :data:`SOURCES`, which import the standard library only, give the same answers there
as in the server. Facts about estimators and ready-made points are written as literals.
"""

import io
import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import lazy_loader

import linsep
from linsep.errors import LinsepError
from linsep.lab.pages import html_page, script
from linsep.lab.scene import Scene
from linsep.lab.scene_sources import ready_made, url_of
from linsep.lab.settings import SHOWN

#: what runs in the browser, as files and folders of the package
SOURCES = (
    "__init__.py", "__init__.pyi", "check.py", "drawing.py", "errors.py", "layout.py",
    "other_names.py", "parameters.py", "words.py", "estimators/__init__.py",
    "estimators/_common/__init__.py", "estimators/_common/stop_reasons.py",
    "sources/__init__.py", "sources/__init__.pyi", "sources/tables/__init__.py",
    "sources/tables/spellings.py", "teaching/__init__.py",
    "teaching/__init__.pyi", "teaching/rounds.py", "teaching/tables.py", "teaching/trace_table.py",
    "teaching/textbook/*.py*", "lab/__init__.py", "lab/__init__.pyi", "lab/answer.py",
    "lab/certificate.py", "lab/course.py", "lab/numbers.py", "lab/own_points.py", "lab/pages.py",
    "lab/proof.py", "lab/run.py", "lab/scene.py", "lab/scene_sources.py", "lab/settings.py",
    "lab/shown.py", "lab/verdict.py", "lab/lessons/*.md", "lab/page/*.js", "lab/page/*.css",
)  # fmt: skip
MISSING = (
    "linsep lab --static needs Pyodide, Python for browsers, which is not installed: "
    "pip install 'linsep[static]', or in a clone pip install ./packages/linsep-pyodide."
)
#: licenses listed in the folder, next to Pyodide's
LICENSES = {"linsep": "MIT", "lazy_loader": "BSD-3-Clause"}


def check_static() -> None:
    """Raise LinsepError if Pyodide is not installed."""
    if find_spec("linsep_pyodide") is None:
        raise LinsepError(MISSING, code="missing-package")


def write_static(folder: Path, scene: Scene, lesson: str = "") -> int:
    """Write the lab to a folder that exists; return the bytes of its files.

    Parameters
    ----------
    folder : Path
    scene : Scene
        The scene that the page shows first, before Python has loaded.
    lesson : str
        The text of the user's own lesson, named "own".

    Raises
    ------
    LinsepError
        If Pyodide is not installed.
    """
    check_static()
    import linsep_pyodide

    sources = zipped(lesson)
    (folder / "linsep.zip").write_bytes(sources)
    (folder / "worker.js").write_text(script_of_worker(), encoding="utf-8")
    shutil.copytree(linsep_pyodide.FOLDER, folder / "pyodide", dirs_exist_ok=True)
    shutil.copytree(linsep_pyodide.FOLDER.parent / "licenses", folder / "licenses",
                    dirs_exist_ok=True)  # fmt: skip
    about = (linsep_pyodide.FOLDER.parent / "README.md").read_text(encoding="utf-8")
    (folder / "licenses" / "README.md").write_text(about + _own_licenses(), encoding="utf-8")
    page = html_page(first_answer(sources, scene), "linsep lab", script("static"))
    (folder / "index.html").write_text(page, encoding="utf-8")
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def zipped(lesson: str = "") -> bytes:
    """Return the Python sources that run in the browser, as a zip archive."""
    package, content = Path(linsep.__file__).parent, io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for pattern in SOURCES:
            for file in sorted(package.glob(pattern)):
                archive.write(file, f"linsep/{file.relative_to(package).as_posix()}")
        archive.write(lazy_loader.__file__, "lazy_loader/__init__.py")
        archive.writestr("linsep/lab/declared.py", literals(lesson))
    return content.getvalue()


def first_answer(sources: bytes, scene: Scene) -> dict[str, Any]:
    """Return the first answer of the page, computed by the sources themselves."""
    code = (
        "import json, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from linsep.lab.answer import page_without_server, scene_of_url\n"
        "print(json.dumps(page_without_server(scene_of_url(sys.stdin.read()))))\n"
    )
    with TemporaryDirectory() as folder:
        ZipFile(io.BytesIO(sources)).extractall(folder)
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, folder], input=url_of(scene), text=True,
            capture_output=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise LinsepError(done.stderr.strip().rpartition("Error: ")[2], code="bad-scene")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def literals(lesson: str = "") -> str:
    """Return the module ``declared`` with its values as literals."""
    shown = re.sub(r"<class '(\w+)'>", r"\1", repr(SHOWN))
    from linsep.lab.declared import FIRST, READY

    ready = [
        f"    {name!r}: Ready({one.group!r}, {one.title!r}, lambda: {_points(name)!r}, "
        f"{one.settings!r}),\n"
        for name, one in READY.items()
    ]
    return (
        '"""The learners and the ready-made points, as the library declares them."""\n\n'
        "from math import inf\n\n"
        "from linsep.lab.shown import Ready, Shown\n"
        "from linsep.parameters import Control, Demonstration, Parameter\n\n"
        f"SERVED = False\nOWN_LESSON = {lesson!r}\nFIRST = {FIRST!r}\nSHOWN = {shown}\n"
        f"READY = {{\n{''.join(ready)}}}\n"
    )


def _points(name: str) -> tuple[Any, ...]:
    scene = ready_made(name)
    return scene.rows, scene.codes, scene.labels, scene.features


def script_of_worker() -> str:
    """Return the script of the worker."""
    return (Path(__file__).parent / "page" / "worker.js").read_text(encoding="utf-8")


def _own_licenses() -> str:
    lines = [f"- {name}: {license}, in `linsep.zip`.\n" for name, license in LICENSES.items()]
    return f"\n## The rest of this folder\n\n{''.join(lines)}"
