"""What a text column becomes: the settings of :class:`linsep.Text`, checked."""

from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.text_cutting import CHAR, CHAR_WB, WORD
from linsep.errors import ParameterError

ANALYZERS = {"word": WORD, "char": CHAR, "char_wb": CHAR_WB}
NORMS = {None: 0, "l1": 1, "l2": 2}
#: most words or characters of an n-gram
LONGEST = 100
#: most hashed columns, as in scikit-learn
MOST_COLUMNS = (1 << 31) - 1


class Settings(NamedTuple):
    """The parameters of :class:`linsep.Text`, which describes them."""

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    vocabulary: bool = False
    n_features: int = 1 << 18
    alternate_sign: bool = True
    min_df: float = 1
    max_df: float = 1.0
    binary: bool = False
    sublinear_tf: bool = False
    use_idf: bool = False
    norm: str | None = "l2"

    @property
    def learns(self) -> bool:
        """Whether all texts must be read before the first row is known."""
        return self.vocabulary or self.use_idf

    def checked(self) -> "Settings":
        """Return plain values of the settings; raise ParameterError for one that is invalid."""
        if self.analyzer not in ANALYZERS:
            raise ParameterError(f"analyzer is {self.analyzer!r}: choose {_any_of(ANALYZERS)}.")
        if self.norm not in NORMS:
            raise ParameterError(f"norm is {self.norm!r}: choose {_any_of(NORMS)}.")
        for name, value in self._asdict().items():
            if isinstance(self._field_defaults[name], bool) and not isinstance(value, bool):
                raise ParameterError(f"{name} is {value!r}: choose True or False.")
        if not _is_count(self.n_features, MOST_COLUMNS):
            raise ParameterError(
                f"n_features is {self.n_features!r}: choose a number from 1 to {MOST_COLUMNS:,}."
            )
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            share = isinstance(value, float) and 0 <= value <= 1
            if not share and not _is_count(value):
                raise ParameterError(
                    f"{name} is {value!r}: choose a number of texts, 1 or more, or a share of "
                    "them from 0.0 to 1.0."
                )
        if not self.vocabulary and (self.min_df, self.max_df) != (1, 1.0):
            raise ParameterError(
                "min_df and max_df choose the words of a vocabulary: set vocabulary=True."
            )
        return self._replace(
            ngram_range=_range(self.ngram_range), n_features=int(self.n_features),
            min_df=_plain(self.min_df), max_df=_plain(self.max_df),
        )  # fmt: skip


def _any_of(names: Any) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}"


def _is_count(value: Any, most: float = float("inf")) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 1 <= value <= most


def _range(given: Any) -> tuple[int, int]:
    pair = tuple(given) if isinstance(given, list | tuple) else ()
    if len(pair) != 2 or not all(_is_count(n, LONGEST) for n in pair) or pair[0] > pair[1]:
        raise ParameterError(
            f"ngram_range is {given!r}: give the fewest and the most units of an n-gram, such as "
            f"(1, 2), of at most {LONGEST}."
        )
    return int(pair[0]), int(pair[1])


def _plain(value: Any) -> float:
    return float(value) if isinstance(value, float) else int(value)
