"""The core of Pyodide: ``FOLDER`` has its files."""

from pathlib import Path

FOLDER = Path(__file__).parent / "files"
