"""The claim about the fewest errors, made of what the search found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.certificate.constraints import Combination, Question
from linsep.certificate.errors import Branch, Exhaustive, FewestErrors, Packing, Tree
from linsep.certificate.integers import Row, in_lowest_terms, whole_numbers
from linsep.errors import DataError
from linsep.separability.data import Data
from linsep.separability.fewest.rows import WeightedRows
from linsep.separability.fewest.search import Search
from linsep.separability.time_limit import Task, limited

#: a search has this many seconds even if the verdict took all of them
SHORTEST = 1e-3


class Asked(NamedTuple):
    """What is asked: whether rows on the hyperplane are errors, and the weights of all rows.

    The weights are whole numbers times a unit; None if each row counts 1.
    """

    strict: bool = True
    weights: list[int] | None = None
    unit: Fraction = Fraction(1)


def asked(strict: bool, weights: Any, n_rows: int) -> Asked:
    """Return what is asked, with weights of any kind of number.

    Raises
    ------
    DataError
        Unless there is one finite weight of at least 0 per row, and one of them is positive.
    """
    if weights is None:
        return Asked(strict)
    given = np.asarray(weights)
    if given.shape != (n_rows,):
        raise DataError(
            f"sample_weight has shape {given.shape}: pass one weight for each of {n_rows:,} rows.",
            code="shape", option="sample_weight", value=given.shape,
        )  # fmt: skip
    finite = given.dtype.kind != "f" or np.isfinite(given).all()
    try:
        whole, unit = whole_numbers(given if finite else given.astype(object))
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "sample_weight has values that are not finite: give finite numbers.",
            code="not-finite", option="sample_weight",
        ) from None  # fmt: skip
    if min(whole, default=0) < 0:
        raise DataError(
            f"sample_weight of row {np.argmin(whole) + 1} is negative: pass 0 or more.",
            code="out-of-range", option="sample_weight", row=int(np.argmin(whole)) + 1,
        )  # fmt: skip
    common = math.gcd(*whole)
    if not common:
        raise DataError(
            "sample_weight is 0 in every row: set a positive weight in some row.",
            code="no-rows", option="sample_weight",
        )  # fmt: skip
    return Asked(strict, [m // common for m in whole], unit * common)


def fewest_errors(
    data: Data, question: Question, asked: Asked, start: Row | None, seconds: float
) -> FewestErrors:
    """Return the interval that was reached, with its proofs.

    Parameters
    ----------
    data : Data
        All of its rows are read into memory.
    question : Question
        Of two sides.
    asked : Asked
    start : Row or None
        Weights in whole numbers to begin with.
    seconds : float
        How long to search.
    """
    rows = WeightedRows(data, question, asked.weights, asked.strict)
    search = Search(rows, start)
    with limited(Task(max(seconds, SHORTEST))):
        found = search.run()
    best = found.best
    nodes = [*_nodes(found.tree)]
    parts = sorted({s for node in nodes if isinstance(node, Packing) for s in node.shares})
    numbers = {s: k for k, s in enumerate(parts)}
    chosen = [found.contradictions[s] for s in parts]
    branched = {node.row for node in nodes if isinstance(node, Branch)}
    groups = sorted({g for one in chosen for g in one.groups} | branched)
    return FewestErrors(
        asked.strict, asked.unit, None if asked.weights is None else tuple(asked.weights),
        found.low, best.errors, in_lowest_terms(best.weights), best.rows,
        tuple(tuple(rows.copies[g]) for g in groups if len(rows.copies[g]) > 1),
        tuple(_combination(rows, one.groups, one.multipliers) for one in chosen),
        _of_rows(found.tree, rows, numbers),
        tuple((seconds, float(low * asked.unit), float(high * asked.unit))
              for seconds, low, high in found.history),
    )  # fmt: skip


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    if isinstance(tree, Branch):
        yield from (*_nodes(tree.wrong), *_nodes(tree.right))


def _combination(
    rows: WeightedRows, groups: Sequence[int], multipliers: Sequence[Fraction]
) -> Combination:
    """Return a contradiction by the first row of each group, in order."""
    exact = {
        rows.copies[g][0]: x / rows.exact(g)[1] for g, x in zip(groups, multipliers, strict=True)
    }
    whole = in_lowest_terms({row: exact[row] for row in sorted(exact)})
    return Combination(tuple(whole), (0,) * len(whole), tuple(whole.values()))


def _of_rows(tree: Tree, rows: WeightedRows, numbers: dict[int, int]) -> Tree:
    """Return a tree about rows instead of groups."""
    if isinstance(tree, Branch):
        ways = (_of_rows(way, rows, numbers) for way in (tree.wrong, tree.right))
        return Branch(rows.copies[tree.row][0], *ways)
    if isinstance(tree, Exhaustive):
        return tree
    return Packing({numbers[s]: share for s, share in sorted(tree.shares.items())})
