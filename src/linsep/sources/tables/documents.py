"""Texts in folders, one per file, as a table of text and label."""

import email
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Located, hint
from linsep.sources.formats import LABEL, TEXT, format_by_name, opened
from linsep.sources.limits import MAX_LINE
from linsep.sources.remote.file import File, Unchanged
from linsep.sources.tables.arrow_files import ArrowFile, Opened

#: a record batch ends at this many texts or bytes
_TEXTS, _BYTES = 4096, 1 << 23
_SHOWN = 64


class Documents(ArrowFile):
    """The texts of folders, with columns ``text`` and ``label``.

    A folder has a folder of texts for each label, at any depth, or texts alone, which have no
    label. Files beside folders are left out if texts shall be ``labeled``, and so is what has a
    name that begins with a dot. Text is UTF-8. For an e-mail (.eml), it is the subject and the
    plain-text body, or else the HTML source, decoded with the declared charset. ``mixed`` texts
    come in a fixed random order: online learners need mixed labels.
    """

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
        self._files: list[File] = [path for path, _ in found]
        self.unchanged = Unchanged(self._files)
        names = [TEXT] + [LABEL] * any(label is not None for _, label in found)
        self._schema = pa.schema([(name, pa.string()) for name in names])
        order = np.random.default_rng(0).permutation(len(found)) if mixed else range(len(found))
        self._documents = [found[number] for number in order]
        self.n_rows, self.size = len(found), sum(path.stat().st_size for path in self._files)

    @property
    def files(self) -> list[File]:
        return list(self._files)

    def where(self, row: int) -> str:
        path, _ = self._documents[row]
        return Located(str(path), path=path)

    @contextmanager
    def _opened(self, names: list[str] | None) -> Opened:
        yield self._schema, self._batches(self._documents[: _SHOWN if names is None else None])

    def _batches(self, documents: list[tuple[Path, str | None]]) -> Iterator[pa.RecordBatch]:
        rows, size = list[dict[str, str | None]](), 0
        for number, (path, label) in enumerate(documents, 1):
            text = self._text_of(path)
            rows.append({TEXT: text, LABEL: label})
            size += len(text)
            if len(rows) == _TEXTS or size > _BYTES or number == len(documents):
                self._done = number / len(self._documents)
                yield pa.RecordBatch.from_pylist(rows, self._schema)
                rows, size = [], 0

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
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path} is not UTF-8 text (byte {error.start + 1} is 0x{data[error.start]:02x}): "
                "convert it, for example with iconv -f latin1 -t utf-8.",
                code="encoding", path=path,
            ) from None  # fmt: skip


def _texts_in(folder: File, labeled: bool) -> list[tuple[Path, str | None]]:
    if not isinstance(folder, Path) or not folder.is_dir():
        raise DataError(
            f"{folder} is not a folder of texts: give a folder.", code="not-a-file", path=folder
        )
    inside = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    seen = [path for path in inside if not any(part[0] == "." for part in path.parts)]
    texts = [(folder / path, path.parts[0] if len(path.parts) > 1 else None) for path in seen]
    return [text for text in texts if text[1] is not None and labeled] or texts


def text_of_message(data: bytes) -> str:
    """Return the subject and the text of a message; invalid characters become U+FFFD."""
    from email import policy  # a grammar of addresses, which other tables need not

    message = email.message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    try:
        parts = [str(message["subject"] or "")]
    except (IndexError, ValueError, AttributeError):  # of the parser, on a damaged header
        parts = [str(email.message_from_bytes(data)["subject"])]
    if (body := message.get_body(("plain", "html"))) is not None:
        try:
            parts.append(str(body.get_content()))
        except (LookupError, ValueError, AttributeError):  # an unknown encoding, or damaged parts
            payload = body.get_payload(decode=True)
            parts.append(payload.decode(errors="replace") if isinstance(payload, bytes) else "")
    return re.sub("[\ud800-\udfff]", "\ufffd", "\n\n".join(filter(None, parts)))
