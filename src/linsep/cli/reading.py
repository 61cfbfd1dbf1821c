"""Options of how DATA to learn from are read, which ``fit`` and ``tune`` share."""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from linsep.cli import column_options, learners, options
from linsep.cli.failures import flag_of, note
from linsep.cli.file_options import FILES, in_place_of
from linsep.cli.score import open_like
from linsep.errors import DataError
from linsep.paths import cache_folder
from linsep.sources.base import Source
from linsep.sources.opening import find_files, kind_of, open_source
from linsep.sources.remote.file import File
from linsep.sources.vw.source import VwSource

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
        source = open_source(data, cache=None if no_cache else cache, **how, **columns)
        _tell_repeated(source)
        _tell_absent(source, columns)
        return source

    def check(self, source: Source, **others: list[str] | None) -> None:
        """Report other files that cannot be read as the source is, before learning, and tell if
        they are learnt from. ``others`` are the values of options by name.
        """
        for name, data in others.items():
            if data:
                other = open_source(data, recipe=source.layout(), **self.files)
                _tell_learnt(name, source, other)

    def like(self, model: Any, path: Path | None, data: list[str]) -> Source:
        """Open other files for a model."""
        return open_like(model, path, data, **self.files)


#: what an option learns from rows that a model has not seen
_LEARNS = {
    "test": "how well new rows are predicted",
    "calibrate": "how sure predictions of new rows are",
}


def _tell_learnt(option: str, source: Source, other: Source) -> None:
    """Tell that a file of an option, ``other``, is one that a model is learnt from."""
    learnt = set(map(_whole, source.paths))
    both = [path for path in other.paths if _whole(path) in learnt]
    if both:
        note(
            f"{flag_of(option)} {both[0]} is learnt from, too: it does not tell "
            f"{_LEARNS[option]}; `linsep split` holds rows out."
        )


#: rows whose namespaces are compared with those that options name
_ROWS = 1_000


def _tell_absent(source: Source, given: dict[str, Any]) -> None:
    """Tell that no namespace in Vowpal Wabbit's text begins with a letter that an option names."""
    options = {name: given[name] for name in column_options.NAMESPACES if given.get(name)}
    if not options or not isinstance(source, VwSource):
        return
    try:
        there = source.namespaces(_ROWS)
    except DataError:
        return  # learning, which reads the same rows, says it with its line
    for name, letters in options.items():
        absent = sorted({x for x in "".join(letters) if not set(x.encode()) & set(there)})
        if absent:
            note(
                f"No namespace of the first {_ROWS:,} rows begins with {_shown(absent)} "
                f"({flag_of(name)}); there are {_shown(there.decode(errors='replace'))}."
            )


def _shown(letters: Iterable[str]) -> str:
    return ", ".join(map(repr, letters))


def _tell_repeated(source: Source) -> None:
    """Tell that a file is given more than once."""
    counts = Counter(map(_whole, source.paths))
    for path in {_whole(path): path for path in source.paths}.values():
        if (count := counts[_whole(path)]) > 1:
            note(f"{path} is given {count} times, and each of its rows counts {count} times.")


def _whole(path: File) -> str:
    return os.path.realpath(path) if isinstance(path, Path) else str(path)


def added(command: Callable) -> Callable:
    """Give a command these options in place of its parameter ``reading``."""
    return in_place_of(command, "reading", OPTIONS, Reading)
