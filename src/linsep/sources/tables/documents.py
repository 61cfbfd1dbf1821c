"""Texts in folders, one per file, as a table of text and label."""

import email
import re
from collections.abc import Iterator, Sequence
from email.message import EmailMessage, MIMEPart
from pathlib import Path

import numpy as np
import pyarrow as pa

from linsep.errors import DataError, Located
from linsep.sources.fingerprints import Unchanged
from linsep.sources.formats import LABEL, TEXT
from linsep.sources.limits import MAX_LINE
from linsep.sources.remote.file import File
from linsep.sources.tables.table_file import Kinds, Others, TableFile

#: a record batch ends at this many texts or bytes
_TEXTS, _BYTES = 4096, 1 << 23
_SHOWN = 64


#: a text, and its label, if it has one
Document = tuple[Path, str | None]


class Documents(TableFile):
    """The texts of folders, with columns ``text`` and ``label``.

    A folder has a folder of texts for each label, at any depth, or texts alone, which have no
    label. Files beside folders of labels are left out, and so is what has a name that begins with a
    dot. Text is UTF-8. For an e-mail (.eml), it is the subject and the plain-text body, or else the
    HTML source, decoded with the declared charset.

    Parameters
    ----------
    paths : list of Path
    mixed : bool
        Whether to read texts in a fixed random order instead of by name: online learners need mixed
        labels.
    max_bytes : int
        The bytes that a text may have.
    """

    def __init__(self, paths: Sequence[File], mixed: bool = False, max_bytes: int = MAX_LINE):
        self.path, self.max_bytes = paths[0], max_bytes
        #: texts beside the folders of labels, which are left out
        self.beside: list[Path] = []
        found: list[Document] = []
        for path in paths:
            if not isinstance(path, Path) or not path.is_dir():
                raise DataError(
                    f"{path} is not a folder of texts: give a folder.", code="not-a-file", path=path
                )
            found += self._of_folder(path)
        self._files = [path for path, _ in found]
        self.unchanged = Unchanged(self._files)
        if not found:
            raise DataError(
                f"{self.path} holds no text: give a folder of texts.",
                code="no-rows",
                path=self.path,
            )
        self.labeled = any(label is not None for _, label in found)
        order = np.random.default_rng(0).permutation(len(found)) if mixed else range(len(found))
        self._documents = [found[number] for number in order]
        self.n_rows, self.size = len(found), sum(path.stat().st_size for path in self._files)

    @property
    def files(self) -> list[File]:
        """The texts."""
        return list(self._files)

    def columns(self) -> dict[str, pa.DataType | None]:
        """Return the columns and their types; without labels there is only one."""
        return {TEXT: pa.string()} | ({LABEL: pa.string()} if self.labeled else {})

    def head(self) -> pa.RecordBatch:
        """Return the first texts."""
        first = self._documents[:_SHOWN]
        return self._batch(first, [self._text_of(path) for path, _ in first])

    def chunks(self, kinds: Kinds, others: Others = None) -> Iterator[pa.RecordBatch]:
        """Yield the columns in batches of some megabytes."""
        self._done, texts, size, start = 0.0, [], 0, 0
        for number, (path, _) in enumerate(self._documents):
            texts.append(self._text_of(path))
            size += len(texts[-1])
            if len(texts) == _TEXTS or size > _BYTES or number + 1 == len(self._documents):
                self._done = (number + 1) / len(self._documents)
                yield self._batch(self._documents[start : number + 1], texts).select(list(kinds))
                texts, size, start = [], 0, number + 1

    def where(self, row: int) -> str:
        """Return the file."""
        path, _ = self._documents[row]
        return Located(str(path), path=path)

    def _batch(self, documents: list[Document], texts: list[str]) -> pa.RecordBatch:
        columns = {TEXT: pa.array(texts, pa.string())}
        if self.labeled:
            columns[LABEL] = pa.array([label for _, label in documents], pa.string())
        return pa.RecordBatch.from_pydict(columns)

    def _of_folder(self, folder: Path) -> Iterator[Document]:
        """Yield the texts of the folders inside, or without any the texts."""
        inside = sorted(path for path in folder.iterdir() if path.name[0] != ".")
        folders = [path for path in inside if path.is_dir()]
        for label in folders:
            for path in sorted(label.rglob("*")):
                hidden = any(part[0] == "." for part in path.relative_to(label).parts)
                if path.is_file() and not hidden:
                    yield path, label.name
        self.beside += [path for path in inside if path.is_file()]
        if not folders:
            self.beside.clear()
            for path in inside:
                if path.is_file():
                    yield path, None

    def _text_of(self, path: Path) -> str:
        try:
            if (size := path.stat().st_size) > self.max_bytes:
                raise DataError(
                    f"{path} has {size:,} bytes, more than the {self.max_bytes:,} that a text may "
                    "have: shorten it, or raise max_line.",
                    code="too-large",
                    path=path,
                )
            data = path.read_bytes()
        except OSError as error:
            raise DataError(
                f"{path} cannot be read any more ({error.strerror}): do not change the folder "
                "during the run.",
                code="file-changed",
                path=path,
            ) from None
        if path.suffix.lower() == ".eml":
            return text_of_message(data)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path} is not UTF-8 text (byte {error.start + 1} is 0x{data[error.start]:02x}): "
                "convert it, for example with iconv -f latin1 -t utf-8.",
                code="encoding",
                path=path,
            ) from None


def text_of_message(data: bytes) -> str:
    """Return the subject and the text of a message; invalid characters become U+FFFD."""
    from email import policy  # a grammar of addresses, which other tables need not

    message = email.message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    parts = [_subject(message, data)]
    body = message.get_body(("plain", "html"))
    if body is not None:
        parts.append(_content(body))
    text = "\n\n".join(part for part in parts if part)
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _subject(message: EmailMessage, data: bytes) -> str:
    try:
        return str(message["subject"] or "")
    except (IndexError, ValueError, AttributeError):  # of the parser, on a damaged header
        return str(email.message_from_bytes(data)["subject"])


def _content(body: MIMEPart) -> str:
    try:
        return str(body.get_content())
    except (LookupError, ValueError, AttributeError):  # an unknown encoding, or damaged parts
        payload = body.get_payload(decode=True)
        return payload.decode(errors="replace") if isinstance(payload, bytes) else ""
