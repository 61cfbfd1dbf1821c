"""Options of how DATA to learn from are read, which ``fit`` and ``tune`` share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from linsep.cli import learners, options
from linsep.cli.file_options import FILES, in_place_of
from linsep.cli.score import open_like
from linsep.paths import cache_folder
from linsep.sources.base import Source
from linsep.sources.opening import find_files, kind_of, open_source

#: the options in the order of the help, with their defaults
OPTIONS: dict[str, tuple[Any, Any]] = {
    "target": (options.Target, None),
    "missing": (options.Missing, "error"),
    "hash_bits": (options.HashBits, None),
    "exclude": (options.Exclude, None),
    "scale": (options.Scale, None),
    "reference_level": (options.ReferenceLevel, None),
    "index_base": (options.IndexBase, None),
    **FILES,
    "cache": (options.CacheFolder, None),
    "no_cache": (options.NoCache, False),
}


class Reading(NamedTuple):
    """The values of these options."""

    given: dict[str, Any]

    @property
    def files(self) -> dict[str, Any]:
        """How other files are read."""
        return {name: self.given[name] for name in FILES}

    def source(self, data: list[str], learner: str, parameters: dict[str, Any]) -> Source:
        """Open DATA for a learner, whose ``parameters`` lose the options of columns.

        How columns become features is the default of the learner where it is not given; svmlight
        text has no columns to encode.
        """
        how = dict(self.given)
        no_cache, cache = how.pop("no_cache"), how.pop("cache") or cache_folder()
        table = kind_of(find_files(list(data), how["format"]), how["format"]) == "table"
        intercept = parameters.get("fit_intercept") is not False
        how["scale"] = learners.scaling(how["scale"], learner, table)
        how["reference_level"] = learners.reference_levels(
            how["reference_level"], learner, intercept, table
        )
        columns = parameters.pop("columns")
        return open_source(data, cache=None if no_cache else cache, **how, **columns)

    def check(self, source: Source, *others: list[str] | None) -> None:
        """Report other files that cannot be read as the source is, before learning."""
        for data in filter(None, others):
            open_source(data, recipe=source.layout(), **self.files)

    def like(self, model: Any, path: Path | None, data: list[str]) -> Source:
        """Open other files for a model."""
        return open_like(model, path, data, **self.files)


def added(command: Callable) -> Callable:
    """Give a command these options in place of its parameter ``reading``."""
    return in_place_of(command, "reading", OPTIONS, Reading)
