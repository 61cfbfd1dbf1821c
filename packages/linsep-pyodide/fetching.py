"""Fetch the npm package "pyodide" when the wheel is built, and check its hash.

The registry is the one that npm is configured for: the variable npm_config_registry, or what
``npm config get registry`` prints; else npm's own.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REGISTRY = "https://registry.npmjs.org"
#: of the tarball, as npm states it
INTEGRITY = (
    "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pO"
    "ttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
#: which releases of packages Pyodide can load; none is needed here, so the list is left out
LOCK = "pyodide-lock.json"


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts the files into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch the files; nothing is left in the source tree."""
        self.folder = Path(tempfile.mkdtemp())
        with tarfile.open(fileobj=tarball(self.metadata.version, self.folder)) as archive:
            for name in (*FILES, LOCK):
                member = archive.extractfile(f"package/{name}")
                assert member is not None
                (self.folder / name).write_bytes(member.read())
        lock = self.folder / LOCK
        lock.write_text(json.dumps(json.loads(lock.read_text("utf-8")) | {"packages": {}}))
        for name in (*FILES, LOCK):
            build_data["force_include"][str(self.folder / name)] = f"linsep_pyodide/files/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was fetched."""
        shutil.rmtree(self.folder)


def tarball(version: str, folder: Path) -> Any:
    """Return the package of a version as an open file; RuntimeError if it is another one."""
    address = f"{registry()}/pyodide/-/pyodide-{version}.tgz"
    with urlopen(address, timeout=120) as answer, open(folder / "package.tgz", "wb") as file:
        shutil.copyfileobj(answer, file)
    content = (folder / "package.tgz").read_bytes()
    found = f"sha512-{b64encode(hashlib.sha512(content).digest()).decode()}"
    if found != INTEGRITY:
        raise RuntimeError(
            f"{address} is not the package that linsep was made for: its hash is {found}, not "
            f"{INTEGRITY}."
        )
    return open(folder / "package.tgz", "rb")


def registry() -> str:
    """Return the address of the registry."""
    variables = {name.lower(): value for name, value in os.environ.items()}
    given = variables.get("npm_config_registry", "")
    if not given and (npm := shutil.which("npm")):
        asked = [npm, "config", "get", "registry"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        given = done.stdout.strip() if done.returncode == 0 else ""
    return (given or REGISTRY).rstrip("/")
