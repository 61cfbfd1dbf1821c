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
from linsep.words import a


class Reading(NamedTuple):
    """The values of :data:`linsep.cli.options.READING`, and the column of groups, if any."""

    given: dict[str, Any]
    group: str | None = None

    @property
    def files(self) -> dict[str, Any]:
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
        names = {_whole(path): path for path in source.paths}
        for path, count in Counter(map(_whole, source.paths)).items():
            if count > 1:
                told = f"{names[path]} is given {count} times, so each of its rows is used {count}"
                note(f"{told} times.", "warning")
        return source

    def check(self, source: Source, **others: list[str] | None) -> None:
        """Report other files that cannot be read like the source, before training, and warn about
        training files among them. ``others`` are the values of options by name.
        """
        learned = set(map(_whole, source.paths))
        for name, data in others.items():
            if data:
                group = self.group if name == "test" else None
                recipe = recipe_with(source.layout(), group=group)
                other = open_source(data, recipe=recipe, **self.files)
                if both := [path for path in other.paths if _whole(path) in learned]:
                    told = f"{flag_of(name)} {both[0]} is also training data, so its rows are not "
                    note(f"{told}new; `linsep split` holds rows out.", "warning")

    def like(self, model: Any, data: list[str], group: str | None = None) -> Source:
        """Open other files for a model, with groups if their column is named."""
        return open_like(model, None, data, group, **self.files)


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
            code="unsupported", path=path,
        )  # fmt: skip
    source = open_source(data, recipe=recipe_with(model.recipe_, group=group), **how)
    source.warns = False
    return source


def lacks(model: Any, path: Path, what: str, **fields: Any) -> DataError:
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
    if unknown:
        note(f"{unknown_text(unknown, recipe)}.", "warning")


def gathered(
    batches: Iterable[Batch], width: int | None = None, most: int | None = None
) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return the rows of some batches together, as :func:`rows_of` does."""
    parts: list[Batch] = []
    rows = 0
    for batch in batches:
        parts.append(batch)
        rows += batch.X.shape[0]
        if most is not None and rows >= most:
            break
    width = max(part.X.shape[1] for part in parts) if width is None else width
    wide = [_as_wide(part.X, width) for part in parts]
    X = sp.vstack(wide, format="csr") if sp.issparse(wide[0]) else np.vstack(wide)
    others = ([x for x in each if x is not None] for each in zip(*((p.y, p.weights) for p in parts),
                                                                 strict=True))  # fmt: skip
    y, w = (np.concatenate(found)[:most] if found else None for found in others)
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
        word, _, number = self._place(0).rpartition(" ")
        # Consecutive lines, the usual case, need no second look at the file.
        last = f"{word} {int(number) + count - 1}"
        self._follow = (word, int(number)) if self._place(count - 1) == last else None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        if self._follow is None:
            return self._place(row)
        word, first = self._follow
        return f"{word} {first + row}"

    def _place(self, row: int) -> str:
        return self._source.where(row).removeprefix(self._only)
