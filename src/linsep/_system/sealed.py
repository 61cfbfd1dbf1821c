"""Arrays and a description in one file with a checksum: safetensors and JSON, nothing executed.

A SHA-256 checksum of the whole file detects damage. It is not a signature: anyone can write a file
with a valid checksum. So what a file declares is checked before it is used, and nothing may be
larger than the file itself.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from linsep.errors import LinsepError

#: key of the checksum in the header, and its placeholder while it is computed
SEAL = re.compile(rb'"sha256":"([0-9a-f]{64})"')
BLANK = b"0" * 64
#: largest header in bytes, as in safetensors
MOST_HEADER = 100_000_000


class FileKind(NamedTuple):
    """A kind of file in messages: its name, what writes it, the remedy for damage, and the class of
    errors.
    """

    name: str
    made_by: str
    remedy: str
    error: type[LinsepError]

    def foreign(self, path: Path) -> LinsepError:
        """Return the error for a file of another kind."""
        return self.error(
            f"{path} is not a {self.name}, or it is truncated; {self.made_by} writes one.",
            path=path,
        )

    def damaged(self, path: Path, part: str) -> LinsepError:
        """Return the error for a file whose ``part`` is wrong."""
        return self.error(f"{path} was altered or damaged (its {part}); {self.remedy}.", path=path)


def sealed(
    tensors: dict[str, np.ndarray],
    about: dict[str, Any],
    plain: Callable[[Any], Any] | None = None,
) -> bytes:
    """Return the bytes of a file: arrays, description and checksum.

    ``plain`` turns what JSON lacks into what it has.
    """
    metadata = {"linsep": json.dumps(about, default=plain), "sha256": BLANK.decode()}
    content = to_bytes(tensors, metadata)
    # The description is JSON within JSON, with escaped quotes.
    (seal,) = SEAL.finditer(content, 0, _header_end(content[:8]))
    digest = hashlib.sha256(content).hexdigest().encode()
    return content[: seal.start(1)] + digest + content[seal.end(1) :]


def _header_end(begin: bytes) -> int:
    """Return the end of a safetensors header, from the first eight bytes."""
    return 8 + int.from_bytes(begin, "little")


def unsealed(path: Path, kind: FileKind) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and description of a file, whose checksum is right.

    Raises
    ------
    LinsepError
        Of the class of ``kind``, if the file is missing, of another kind, truncated or altered.
    """
    try:
        if path.exists() and not path.is_file():
            what = "directory" if path.is_dir() else "device or a pipe"
            raise kind.error(
                f"{path} is a {what}, not a {kind.name}.", code="not-a-file", path=path
            )
        header = _checked_header(path, kind)
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise kind.error(f"There is no {kind.name} {path}.", code="no-file", path=path) from None
    except OSError as problem:
        raise kind.error(
            f"{path} cannot be read: {problem.strerror or problem}.", code="cannot-read", path=path
        ) from None
    except (SafetensorError, TypeError, AttributeError):  # AttributeError: types that numpy lacks
        raise kind.foreign(path) from None
    try:
        about = json.loads(header["__metadata__"]["linsep"])
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise kind.damaged(path, "description")
    return tensors, about


def _checked_header(path: Path, kind: FileKind) -> dict[str, Any]:
    """Return the header of a file after checking declared sizes and the checksum."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        begin = file.read(8)
        end = _header_end(begin)
        if len(begin) < 8 or not 8 < end <= min(size, MOST_HEADER):
            raise kind.foreign(path)
        text = file.read(end - 8)
        header = _plain_header(path, text, kind)
        _check_seal(path, header["__metadata__"].get("sha256"), begin + text, file, kind)
    for name, tensor in header.items():
        shape = tensor["shape"] if name != "__metadata__" else []
        if max(shape, default=0) > size:  # an empty array could declare any width
            raise kind.error(
                f"{path} declares {name} of shape {shape}, larger than the file.", path=path
            )
    return header


def _check_seal(path: Path, given: str | None, header: bytes, rest: Any, kind: FileKind) -> None:
    """Raise the error of ``kind`` unless ``given`` is the checksum of the header and the rest."""
    seals = list(SEAL.finditer(header))
    if len(seals) != 1 or given != seals[0][1].decode():
        raise kind.error(
            f"{path} has no checksum, or one of an earlier format; {kind.remedy} with this "
            "version of linsep.", path=path,
        )  # fmt: skip
    at = seals[0].span(1)
    digest = hashlib.sha256(header[: at[0]] + BLANK + header[at[1] :])
    while part := rest.read(1 << 20):
        digest.update(part)
    if digest.hexdigest() != given:
        raise kind.damaged(path, "checksum is wrong")


def _plain_header(path: Path, text: bytes, kind: FileKind) -> dict[str, Any]:
    """Parse the header and check that it has the metadata of this library."""
    try:
        header = json.loads(text)
        metadata = header.get("__metadata__", {})
        if "linsep" not in metadata:
            raise kind.error(f"{path} is a safetensors file, but not from linsep.", path=path)
        shapes = [tensor["shape"] for name, tensor in header.items() if name != "__metadata__"]
        if all(type(n) is int for shape in shapes for n in shape):
            return header
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        if isinstance(problem, LinsepError):
            raise
    raise kind.foreign(path)
