"""Texts in folders, one per file, as a table of text and label."""

import email
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Located, hint
from linsep.sources.formats import LABEL, TEXT, format_by_name, opened
from linsep.sources.limits import MAX_LINE
from linsep.sources.remote.file import File, Unchanged
from linsep.sources.tables.arrow_files import ArrowFile, Opened

#: texts of a record batch
_AT_ONCE = 64


class Documents(ArrowFile):
    """The texts of folders, with columns ``text`` and ``label``.

    A folder has a folder of texts for each label, at any depth, or texts alone, which have no
    label. Files beside folders are left out if texts shall be ``labeled``, and so is what has a
    name that begins with a dot. Text is UTF-8. For an e-mail (.eml), it is the subject and the
    plain-text body, or else the HTML source, decoded with the declared charset. ``mixed`` texts
    come in a fixed random order: online learners need mixed labels.
    """

    files: Any = ()

    def __init__(
        self, paths: Sequence[File], mixed: bool = False, max_bytes: int = MAX_LINE,
        labeled: bool = True,
    ):  # fmt: skip
        self.path, self.max_bytes = paths[0], max_bytes
        found = [text for path in paths for text in _texts_in(path, labeled)]
        if not found:
            raise self.error(" holds no text", "give a folder of texts", code="no-rows")
        for path, _ in found:
            if format_by_name(path) not in (None, "svmlight"):
                raise DataError(
                    f"{self.path} has {path.suffix} files in folders, which are not read as tables",
                    f"name the files, such as {self.path}/*/*{path.suffix}",
                    code="wrong-format", path=path,
                )  # fmt: skip
        self.files = [path for path, _ in found]
        self.unchanged = Unchanged(self.files)
        names = [TEXT] + [LABEL] * any(label is not None for _, label in found)
        self._schema = pa.schema([(name, pa.string()) for name in names])
        order = np.random.default_rng(0).permutation(len(found)) if mixed else range(len(found))
        self._documents = [found[number] for number in order]
        self.n_rows, self.size = len(found), sum(path.stat().st_size for path in self.files)

    def where(self, row: int) -> str:
        path, _ = self._documents[row]
        return Located(str(path), path=path)

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        yield self._schema, self._batches()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self._documents), _AT_ONCE):
            some = self._documents[start : start + _AT_ONCE]
            rows = [{TEXT: self._text_of(path), LABEL: label} for path, label in some]
            self._done = (start + len(rows)) / len(self._documents)
            yield pa.RecordBatch.from_pylist(rows, self._schema)

    def _text_of(self, path: Path) -> str:
        with opened(path) as (stream, _):
            data: bytes = stream.read(self.max_bytes + 1)
        if len(data) > self.max_bytes:
            raise DataError(
                f"{path} has more than the {self.max_bytes:,} bytes that a text may have",
                "shorten it", hint("raise {}", max_line=None),
                code="too-large", path=path,
            )  # fmt: skip
        if path.suffix.lower() == ".eml":
            return text_of_message(data)
        try:
            return data.decode()
        except UnicodeDecodeError:
            way = "convert it, for example with iconv -f latin1 -t utf-8"
            raise DataError(f"{path} is not UTF-8 text", way, code="encoding", path=path) from None


def _texts_in(folder: File, labeled: bool) -> list[tuple[Path, str | None]]:
    if not isinstance(folder, Path) or not folder.is_dir():
        said = f"{folder} is not a local folder of texts"
        raise DataError(said, "name one", code="not-a-file", path=folder)
    inside = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    seen = [path for path in inside if not any(part[0] == "." for part in path.parts)]
    texts = [(folder / path, path.parts[0] if len(path.parts) > 1 else None) for path in seen]
    return [text for text in texts if text[1] is not None and labeled] or texts


def text_of_message(data: bytes) -> str:
    """Return the subject and the text of a message; invalid characters become U+FFFD."""
    from email import policy  # a grammar of addresses, which other tables need not

    message: Any = email.message_from_bytes(data, policy=policy.default)
    try:
        subject = str(message["subject"] or "")
    except (IndexError, ValueError, AttributeError):  # of the parser, on a damaged header
        subject = str(email.message_from_bytes(data)["subject"])
    body = message.get_body(("plain", "html"))
    try:
        text = "" if body is None else body.get_content()
    except (LookupError, ValueError, AttributeError):  # an unknown encoding, or damaged parts
        text = (body.get_payload(decode=True) or b"").decode(errors="replace")
    return re.sub("[\ud800-\udfff]", "\ufffd", "\n\n".join(filter(None, (subject, text))))
