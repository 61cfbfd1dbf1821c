"""The help of commands that learn: options in groups, for one learner at a time."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperOption

from linsep.cli.local_paths import LocalPaths

#: parameters whose options form a group; all others are about output
GROUPS = {
    "Data": (
        "target", "row_names", "exclude", "weight", "group", "format", "delimiter", "quotes",
        "header", "null_values", "missing", "scale", "hash_bits", "reference_level", "index_base",
        "interactions", "ignore_namespaces", "keep_namespaces", "max_line", "test", "calibrate",
        "calibration", "cache", "no_cache",
    ),
    "Text": (
        "text", "analyzer", "ngrams", "vocabulary", "min_df", "max_df", "text_bits", "binary",
        "sublinear", "tf_idf", "norm", "keep_case",
    ),
    "Learner": (
        "learner", "grid", "class_weight", "init_weights", "random_state", "reference",
        "rounds", "max_rounds",
    ),
    "Checkpoints": ("checkpoint", "every", "resume"),
    "Cluster": ("cluster", "mixing", "shard_mb"),
}  # fmt: skip


class OptionsInGroups(LocalPaths):
    """A command whose help shows the options of --learner, or of the default learner."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Remember which learner is named, since ``--help`` ends parsing."""
        ctx.meta["learner"] = _named(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by group."""
        from linsep.cli.learners import DEFAULTS

        if self.name not in DEFAULTS:
            super().format_options(ctx, formatter)
            return
        options = {p.name: p for p in self.get_params(ctx) if isinstance(p, TyperOption)}
        chosen = ctx.meta["learner"] or str(options["learner"].default)
        arguments = [p for p in self.get_params(ctx) if p not in options.values()]
        _write(formatter, "Arguments", [p.get_help_record(ctx) for p in arguments])
        for title, records in _sections(ctx, options, chosen).items():
            if records:
                _write(formatter, title, records)
        formatter.write_paragraph()
        formatter.write_text(
            f"`linsep {self.name} --learner NAME --help` shows the options of another learner."
        )


def _named(args: list[str]) -> str | None:
    """Return the learner that a command line names, if it exists."""
    from linsep.cli.learners import ALL

    for word, following in zip(args, [*args[1:], ""], strict=False):
        name = following if word == "--learner" else word.removeprefix("--learner=")
        if name in ALL and (word == "--learner" or name != word):
            return name
    return None


def _sections(ctx: Any, options: dict[str, Any], chosen: str) -> dict[str, list[Any]]:
    """Return the lines of each group, with the meanings that options have for ``chosen``."""
    from linsep.cli.learners import of_learner, parameters_of, takes

    def lines(names: Iterable[str]) -> list[Any]:
        return [options[n].get_help_record(ctx) for n in names if n in options and takes(chosen, n)]

    own = parameters_of(chosen)
    grouped = {*own, *(name for names in GROUPS.values() for name in names)}
    return {
        **{title: lines(names) for title, names in GROUPS.items()},
        f"Options of --learner {chosen}": [
            of_learner(ctx.command.name, chosen, name) for name in own if name in options
        ],
        "Output": lines(name for name in options if name not in grouped),
    }


def _write(formatter: Any, title: str, records: list[Any]) -> None:
    with formatter.section(title):
        formatter.write_dl([record for record in records if record is not None])
