"""Check what is released: ``python3 packages/release_check.py [NAME ...]``.

Builds the wheel and the source distribution. Installs the wheel into one new environment with the
base dependencies only, where commands that need an extra name it, and into one for each extra, and
does there what the extra is for, outside of the checkout. Then the source distribution passes its
own tests, among them the tests of the structure (``tests/docs/test_architecture.py``). Names select
steps: ``base``, an extra, ``sdist``.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_FOR_USERS = {"test", "lint", "site", "bench"}
ROWS = "a,b,y\n" + "".join(
    f"{i % 7},{i % 5},{'yes' if 2 * (i % 7) > 3 * (i % 5) else 'no'}\n" for i in range(60)
)
#: what works with the base dependencies; other programs of an extra begin with a model
FIT = "linsep fit rows.csv --target y --model m.linsep --force"
LISTENS = """
import subprocess, sys, urllib.request
server = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
address = server.stdout.readline().split()[1]
assert urllib.request.urlopen(address.rstrip("/") + sys.argv[1]).status == 200
server.terminate()
"""
CLUSTER = """
import numpy as np, linsep
from dask.distributed import Client
if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        rows = linsep.open_source("rows.csv", target="y")
        assert linsep.distributed.fit(linsep.Perceptron(), rows, client=client).classes_.size
"""
REMOTE = """
import http.server, threading, linsep
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
linsep.fit(f"http://127.0.0.1:{server.server_port}/rows.csv", target="y")
"""
PROGRAMS = {"listens.py": LISTENS, "cluster.py": CLUSTER, "remote.py": REMOTE}
#: what needs an extra, which the error names
NEEDS = {
    "plot": "linsep plot decision m.linsep rows.csv --output plot.png",
    "onnx": "linsep export m.linsep model.onnx",
    "dask": "linsep fit rows.csv --target y --dask local",
    "remote": "linsep fit s3://bucket/rows.csv --target y",
    "gs": "linsep fit gs://bucket/rows.csv --target y",
    "serve": "linsep serve m.linsep --port 0",
}
#: what each extra is for
USES = {
    "base": [
        "linsep --version",
        "linsep describe rows.csv --target y",
        "linsep predict m.linsep rows.csv",
        "linsep separate rows.csv --target y --proof proof.json",
        "linsep verify proof.json rows.csv --target y",
        "python -m linsep.check proof.json rows.csv --target y",
        "linsep fit rows.csv --target y --learner logistic --model odds.linsep",
        "linsep fit rows.csv --formula y~a*b --learner logistic --l2 1 --model f.linsep",
        "linsep lab --output lab.html",
    ],
    "plot": [NEEDS["plot"]],
    "paper": ["python -c 'import maketables, marginaleffects'"],
    "onnx": [NEEDS["onnx"]],
    "dask": ["python cluster.py"],
    "remote": ["python remote.py"],
    "gs": ["python -c 'import gcsfs'", "python remote.py"],
    "serve": ["python listens.py /health linsep serve m.linsep --port 0"],
}


def run(command: str, folder: Path, bin_folder: Path, extra: str = "") -> None:
    """Run a command with the programs of an environment first on the path; without the ``extra``
    that it needs, it ends with one line and the code 1.
    """
    path = f"{bin_folder}:/usr/bin:/bin"
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": path, "LINSEP_CACHE_DIR": str(folder / "cache")},
    )  # fmt: skip
    named = f"'linsep[{extra}]'" in done.stderr and done.stderr.count("\n") == 1
    if done.returncode != bool(extra) or (extra and not named):
        sys.exit(f"release_check: {command} ended with {done.returncode}:\n{done.stderr[-3000:]}")


def build(folder: Path) -> tuple[Path, Path]:
    """Return the wheel and the source distribution."""
    tools = environment(folder / "tools", ["build"])
    run(f"python -m build --quiet --outdir {folder / 'dist'} {ROOT}", folder, tools)
    return next((folder / "dist").glob("*.whl")), next((folder / "dist").glob("*.tar.gz"))


def environment(folder: Path, packages: list[str]) -> Path:
    """Return the folder of programs of a new environment with these packages."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", *packages]
    subprocess.run(install, check=True)
    return programs


def check_extra(name: str, wheel: Path, folder: Path) -> None:
    """Install the wheel with one extra, and use it."""
    extra = "" if name == "base" else f"[{name}]"
    programs = environment(folder / name, [f"{wheel}{extra}"])
    work = folder / f"{name}-work"
    work.mkdir()
    (work / "rows.csv").write_text(ROWS, "utf-8")
    for file, text in PROGRAMS.items():
        (work / file).write_text(text, "utf-8")
    for command in [FIT, *USES[name]]:
        run(command, work, programs)
    for needed, command in NEEDS.items() if name == "base" else ():
        run(command, work, programs, needed)


def check_sdist(sdist: Path, folder: Path) -> None:
    """Run the tests that the source distribution carries."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    subprocess.run(["make", "test"], cwd=folder / sdist.name.removesuffix(".tar.gz"), check=True)


def main() -> None:
    """Run the steps that are named, or all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - NOT_FOR_USERS
    assert extras == set(USES) - {"base"}, "each extra has its use here"
    steps = sys.argv[1:] or [*USES, "sdist"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        wheel, sdist = build(folder)
        version = re.findall(r"linsep-(.*?)-py3", wheel.name)[0]
        for step in steps:
            if step == "sdist":
                check_sdist(sdist, folder)
            else:
                check_extra(step, wheel, folder)
            print(f"{step:<8} linsep {version} does what it is for", flush=True)


if __name__ == "__main__":
    main()
