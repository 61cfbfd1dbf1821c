"""Terms of hashed columns that were seen in training, in bounded memory."""

from typing import Any

import numpy as np
import pyarrow as pa

from linsep.compiled.text_hashing import News, Seen, keep_news

#: terms that one thread finds before they are kept, and their bytes
MOST_NEWS, NEWS_BYTES = 1 << 17, 1 << 21
#: terms kept of all columns, and their bytes
MOST_TERMS, MOST_BYTES = 1 << 19, 1 << 23

NONE_KEPT = Seen(
    np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int32),
    np.zeros(2, np.int64),
)  # fmt: skip


def empty_news(terms: int = MOST_NEWS, n_bytes: int = NEWS_BYTES) -> News:
    """Return room for terms that a thread finds."""
    ends = np.empty(terms + 1, np.int64)
    ends[0] = 0
    return News(
        recent=np.zeros(1 << 16, np.uint32),
        hashes=np.empty(terms, np.uint32),
        columns=np.empty(terms, np.int32),
        pool=np.empty(n_bytes, np.uint8),
        ends=ends,
        size=np.zeros(2, np.int64),
    )


NO_NEWS = empty_news(0, 0)


class SeenTerms:
    """The first four terms of each of ``n_columns`` hashed columns, until memory is full."""

    def __init__(self, n_columns: int):
        known = min(n_columns, MOST_TERMS)
        # Columns beyond have none, so that memory stays bounded whatever the number of columns.
        self.arrays = NONE_KEPT if known < n_columns else Seen(
            hashes=np.zeros(4 * n_columns, np.uint32),
            pool=np.zeros(MOST_BYTES, np.uint8),
            ends=np.zeros(MOST_TERMS + 1, np.int64),
            columns=np.zeros(MOST_TERMS, np.int32),
            size=np.zeros(2, np.int64),
        )  # fmt: skip

    def keep(self, news: News) -> None:
        """Keep terms that are new, as far as there is room."""
        keep_news(self.arrays, news)

    def listed(self) -> list[Any]:
        """Return the terms and the column of each, in order of appearance, as plain JSON."""
        size = int(self.arrays.size[0])
        ends = self.arrays.ends[: size + 1]
        pool = pa.py_buffer(self.arrays.pool[: ends[-1]].tobytes())
        terms = pa.Array.from_buffers(
            pa.large_string(), size, [None, pa.py_buffer(ends.tobytes()), pool]
        )
        return [terms.to_pylist(), self.arrays.columns[:size].tolist()]
