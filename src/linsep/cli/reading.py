"""How commands read DATA: with options, or like a model's training data."""

import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from linsep._system.files import cache_folder
from linsep.batches import Batch, joined
from linsep.cli import options
from linsep.cli.errors import flag_of, note
from linsep.cli.output import watching
from linsep.errors import DataError, warn_caller
from linsep.estimators.frames import unknown_text
from linsep.estimators.labels import feature_names
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
        """Report other files, by option, that are read differently, or are training files."""
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
        return open_like(model, None, data, group, **self.files)


def _whole(path: File) -> str:
    return os.path.realpath(path) if isinstance(path, Path) else str(path)


def open_like(
    model: Any, path: Path | None, data: list[str], group: str | None = None,
    missing: str | None = None, **how: Any,
) -> Source:  # fmt: skip
    """Open files as the model's training data, with groups if their column is named; ``missing`` is
    None for what the model does about missing values.
    """
    if not hasattr(model, "recipe_"):
        why = "was not trained on a file, which says how to read others: pass arrays in Python"
        raise DataError(f"{path or 'The model'} {why}.", code="unsupported", path=path)
    recipe = recipe_with(model.recipe_, group=group)
    if missing == "error":  # also where the model fills gaps
        recipe = recipe | {"missing": missing}
    source = open_source(data, recipe=recipe, missing=missing or "error", **how)
    source.warns = False
    return source


def lacks(model: Any, path: Path | None, what: str, **fields: Any) -> DataError:
    told = f"{path or 'The model'} is {a(type(model).__name__)}, {what}"
    return DataError(told, code="unsupported", path=path, **fields)


#: more rows would take longer without changing the density
MOST_ROWS = 200_000


def rows_of(source: Source, width: int | None = None, most: int | None = MOST_ROWS) -> Batch:
    """Return the first rows of a source, with ``width`` features, None for as many as it has."""
    parts: list[Batch] = []
    with watching(source):
        for batch in source.batches():
            parts.append(batch if width is None else batch._replace(X=batch.X[:, :width]))
            if most is not None and batch.first + batch.size >= most:
                break
    tell_unknown(source.unseen, source.recipe())
    whole = joined(parts, width)
    return whole if most is None else whole.between(0, most)


def tell_unknown(unknown: dict[str, int], recipe: dict[str, Any]) -> None:
    if unknown:
        warn_caller(f"{unknown_text(unknown, recipe)}.")


def features_of(source: Source, n_features: int) -> list[str]:
    about = SimpleNamespace(
        feature_names_in_=source.feature_names, recipe_=source.recipe(), n_features_in_=n_features
    )
    return feature_names(about)


def numbered(source: Source, rows: int) -> list[str]:
    return [f"row {number + 1}" for number in source.numbers(rows).tolist()]
