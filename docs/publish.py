"""Put a built site among the versions that are published: ``publish.py SITE PAGES VERSION``.

PAGES has a folder for each version, ``versions.json``, from which pages offer the others, and
``index.html``, which leads to the newest release, or to ``dev`` before there is one.
"""

import json
import re
import shutil
import sys
from pathlib import Path

CONF = Path(__file__).with_name("conf.py")
INDEX = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={0}/index.html">'
    '<a href="{0}/index.html">{0}</a>\n'
)


def publish(site: Path, pages: Path, version: str, address: str) -> None:
    """Copy ``site`` to ``pages / version`` and list all versions, the newest first."""
    shutil.rmtree(pages / version, ignore_errors=True)
    shutil.copytree(site, pages / version)
    (pages / ".nojekyll").touch()
    found = {path.name for path in pages.iterdir() if (path / "objects.inv").is_file()}
    releases = sorted(
        found - {"dev"}, key=lambda name: [int(n) for n in re.findall(r"\d+", name)], reverse=True
    )
    newest = releases[0] if releases else "dev"
    known = [
        {"version": name, "url": f"{address}{name}/", "preferred": name == newest}
        for name in [*releases, *found & {"dev"}]
    ]
    (pages / "versions.json").write_text(json.dumps(known, indent=1), encoding="utf-8")
    (pages / "index.html").write_text(INDEX.format(newest), encoding="utf-8")


if __name__ == "__main__":
    site, pages, version = sys.argv[1:]
    address = re.findall(r'^ADDRESS = "(.*)"', CONF.read_text("utf-8"), re.M)[0]
    publish(Path(site), Path(pages), version, address)
