"""The core of Pyodide: ``FOLDER`` has its files, ``VERSION`` is that of the npm package."""

from pathlib import Path

FOLDER, VERSION = Path(__file__).parent / "files", "314.0.7"
