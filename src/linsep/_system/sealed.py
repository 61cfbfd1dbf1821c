"""Arrays and a description in one file with a checksum: safetensors and JSON, nothing executed.

The checksum detects damage, but anyone can write a file with a valid one. So what a file declares
is checked before it is used, and nothing may be larger than the file itself.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from linsep.errors import LinsepError

#: key of the checksum in the header, and its placeholder while it is computed
SEAL, BLANK = re.compile(rb'"sha256":"([0-9a-f]{64})"'), b"0" * 64


class FileKind(NamedTuple):
    """A kind of file, as in its messages; its errors; a key in it, and the format there."""

    name: str
    remedy: str
    error: type[LinsepError]
    key: str
    format: int


def sealed(
    tensors: dict[str, np.ndarray], about: dict[str, Any], plain: Callable | None = None
) -> bytes:
    """Return the bytes of a file; ``plain`` turns what JSON lacks into what it has."""
    metadata = {"linsep": json.dumps(about, default=plain), "sha256": BLANK.decode()}
    content = save(tensors, metadata)
    at, end = _seal(content).span(1)
    return content[:at] + hashlib.sha256(content).hexdigest().encode() + content[end:]


def _header_end(content: bytes) -> int:
    return 8 + int.from_bytes(content[:8], "little")


def _seal(content: bytes) -> re.Match[bytes]:
    (seal,) = SEAL.finditer(content, 0, _header_end(content))  # quotes of JSON in it are escaped
    return seal


def unsealed(path: Path, kind: FileKind) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and description of a file; ``kind.error`` if it is missing or damaged."""
    try:
        if not path.is_file():
            code = "not-a-file" if path.exists() else "no-file"
            raise kind.error(f"There is no {kind.name} {path}.", code=code, path=path)
        with path.open("rb") as file:
            content, size = file.read(8), os.fstat(file.fileno()).st_size
            if _header_end(content) <= size:
                content += file.read()
    except OSError as problem:
        raise kind.error(
            f"{path} cannot be read: {problem.strerror or problem}.", code="cannot-read", path=path
        ) from None
    try:
        header = json.loads(content[8 : _header_end(content)])
        about, seal = json.loads(header.pop("__metadata__")["linsep"]), _seal(content)
        digest = hashlib.sha256(content[: seal.start(1)] + BLANK)
        digest.update(memoryview(content)[seal.end(1) :])
        # An empty array could declare any width.
        width = max((max(array["shape"], default=0) for array in header.values()), default=0)
        if digest.hexdigest().encode() != seal[1] or width > size:
            raise ValueError("altered")
        return load(content), dict(about)
    except (
        SafetensorError, ValueError, TypeError, LookupError, AttributeError, RecursionError
    ):  # fmt: skip
        raise kind.error(
            f"{path} is not a {kind.name}, or it is damaged; {kind.remedy}.", path=path
        ) from None
