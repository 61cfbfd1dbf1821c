"""How commands read DATA: with options, or like a model's training data."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep._system.caches import cache_folder
from linsep.batches import Batch
from linsep.cli import options
from linsep.cli.errors import flag_of, note
from linsep.cli.output import watching
from linsep.errors import DataError
from linsep.estimators.frames import unknown_text
from linsep.fitting import opened_for
from linsep.scoring import recipe_with
from linsep.sources.base import Source
from linsep.sources.opening import open_source
from linsep.sources.remote.file import File
from linsep.sources.vw import VwSource
from linsep.words import a


class Reading(NamedTuple):
    """The values of :data:`linsep.cli.options.READING`, and the column of groups, if any."""

    given: dict[str, Any]
    group: str | None = None

    @property
    def files(self) -> dict[str, Any]:
        """How other files are read."""
        return {name: self.given[name] for name in options.FILES.names}

    def source(
        self, data: list[str], learner: str, columns: dict[str, Any], parameters: dict[str, Any]
    ) -> Source:
        """Open DATA for a learner with these ``parameters``.

        Options that are not given have the defaults of the learner.
        """
        how = dict(self.given)
        no_cache, cache = how.pop("no_cache"), how.pop("cache") or cache_folder()
        source = opened_for(
            learner, data, intercept=parameters.get("fit_intercept") is not False,
            cache=None if no_cache else cache, **how, **columns,
        )  # fmt: skip
        _tell_repeated(source)
        _tell_absent(source, columns)
        return source

    def check(self, source: Source, **others: list[str] | None) -> None:
        """Report other files that cannot be read like the source, before training, and warn about
        training files among them. ``others`` are the values of options by name.
        """
        for name, data in others.items():
            if data:
                group = self.group if name == "test" else None
                recipe = recipe_with(source.layout(), group=group)
                _tell_learned(name, source, open_source(data, recipe=recipe, **self.files))

    def like(self, model: Any, data: list[str], group: str | None = None) -> Source:
        """Open other files for a model, with groups if their column is named."""
        return open_like(model, None, data, group, **self.files)


#: why the files of an option must not be training data
_WHY = {
    "test": "so its score does not measure performance on new rows",
    "calibrate": "so its probabilities are over-confident for new rows",
}


def _tell_learned(option: str, source: Source, other: Source) -> None:
    learned = set(map(_whole, source.paths))
    both = [path for path in other.paths if _whole(path) in learned]
    if both:
        note(
            f"{flag_of(option)} {both[0]} is also training data, {_WHY[option]}; `linsep split` "
            "holds rows out.",
            "warning",
        )


#: rows whose namespaces are compared with the namespaces that options name
_ROWS = 1_000


def _tell_absent(source: Source, given: dict[str, Any]) -> None:
    """Warn if no namespace in Vowpal Wabbit's text begins with a letter that an option names."""
    letters_of = {str(one.name): given.get(str(one.name)) for one in options.NAMESPACES}
    if not any(letters_of.values()) or not isinstance(source, VwSource):
        return
    try:
        there = source.namespaces(_ROWS)
    except DataError:
        return  # training, which reads the same rows, reports it with its line
    for name, letters in letters_of.items():
        absent = sorted({x for x in "".join(letters or ()) if not set(x.encode()) & set(there)})
        if absent:
            known, wanted = (
                ", ".join(map(repr, x)) for x in (there.decode(errors="replace"), absent)
            )
            note(
                f"No namespace of the first {_ROWS:,} rows begins with {wanted} "
                f"({flag_of(name)}), only with {known}.",
                "warning",
            )


def _tell_repeated(source: Source) -> None:
    counts = Counter(map(_whole, source.paths))
    for path in {_whole(path): path for path in source.paths}.values():
        if (count := counts[_whole(path)]) > 1:
            note(
                f"{path} is given {count} times, so each of its rows is used {count} times.",
                "warning",
            )


def _whole(path: File) -> str:
    return os.path.realpath(path) if isinstance(path, Path) else str(path)


def open_like(
    model: Any, path: Path | None, data: list[str], group: str | None = None, **how: Any
) -> Source:
    """Open files and read them like the model's training data, with groups if their column is
    named.

    ``how`` are further arguments of :func:`linsep.open_source`.
    """
    if not hasattr(model, "recipe_"):
        raise DataError(
            f"{path} was not trained on a file, so linsep cannot infer how to read files for it; "
            "use it in Python.",
            code="unsupported",
            path=path,
        )
    source = open_source(data, recipe=recipe_with(model.recipe_, group=group), **how)
    source.warns = False
    return source


def lacks(model: Any, path: Path, what: str, **fields: Any) -> DataError:
    """Return the error for a model in a file that lacks what was requested."""
    return DataError(
        f"{path} is {a(type(model).__name__)}, {what}", code="unsupported", path=path, **fields
    )


#: more rows would take longer without changing the density
MOST_ROWS = 200_000


def rows_of(
    source: Source, width: int | None, most: int | None = MOST_ROWS
) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return the first rows of a source, and their labels and weights if any.

    ``width`` is the number of features of the rows, None for as many as the source has.
    """
    with watching(source):
        found = gathered(source.batches(), width, most)
    tell_unknown(source.unseen, source.recipe())
    return found


def tell_unknown(unknown: dict[str, int], recipe: dict[str, Any]) -> None:
    """Report values that are not in the training data, if there are any."""
    if unknown:
        note(f"{unknown_text(unknown)}.", "warning")


def gathered(
    batches: Iterable[Batch], width: int | None = None, most: int | None = None
) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return the rows of some batches together, as :func:`rows_of` does."""
    parts: list[Any] = []
    labels: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    rows = 0
    for batch in batches:
        parts.append(batch.X)
        labels += [] if batch.y is None else [batch.y]
        weights += [] if batch.weights is None else [batch.weights]
        rows += batch.X.shape[0]
        if most is not None and rows >= most:
            break
    width = max(part.shape[1] for part in parts) if width is None else width
    wide = [_as_wide(part, width) for part in parts]
    X = sp.vstack(wide, format="csr") if sp.issparse(wide[0]) else np.vstack(wide)
    y, w = (np.concatenate(found)[:most] if found else None for found in (labels, weights))
    return X[:most], y, w


def _as_wide(X: Any, width: int) -> Any:
    """Return the rows with so many features; features not seen in training are ignored."""
    if not sp.issparse(X):
        return X if X.shape[1] == width else np.pad(X, ((0, 0), (0, width - X.shape[1])))
    X = X[:, :width]
    X.resize(X.shape[0], width)
    return X


def feature_names(source: Source, n_features: int) -> list[str]:
    """Return the names of the columns, or x and the index of svmlight text; a minus before the name
    of a hashed word that counts negatively.
    """
    if source.feature_names is not None:
        return source.feature_names
    recipe = source.recipe()
    if recipe.get("words"):
        from linsep.sources.feature_names import FeatureNames

        names, signs = FeatureNames(recipe).all()
        return [name if sign > 0 else f"-{name}" for name, sign in zip(names, signs, strict=True)]
    first = recipe.get("index_base", 0)
    return [f"x{j + first}" for j in range(n_features)]


class LineNames(Sequence):
    """Names of rows by their line in the file, looked up on access."""

    def __init__(self, source: Source, count: int):
        self._source, self._count = source, count
        self._only = f"{source.paths[0]} " if len(source.paths) == 1 else ""
        self._known: dict[int, str] = {}
        word, _, number = self._place(0).rpartition(" ")
        # Consecutive lines, the usual case, need no second look at the file.
        last = f"{word} {int(number) + count - 1}"
        self._follow = (word, int(number)) if self._place(count - 1) == last else None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        if self._follow is not None:
            word, first = self._follow
            return f"{word} {first + row}"
        if row not in self._known:
            self._known[row] = self._place(row)
        return self._known[row]

    def _place(self, row: int) -> str:
        return self._source.where(row).removeprefix(self._only)
