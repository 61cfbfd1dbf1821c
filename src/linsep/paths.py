"""Where linsep keeps what it can always make again: compiled code and parsed files."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """``$LINSEP_CACHE_DIR``, else the platform's cache folder of the user; it may not exist yet."""
    if chosen := os.environ.get("LINSEP_CACHE_DIR"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "linsep"
