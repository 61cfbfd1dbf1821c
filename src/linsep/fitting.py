"""What a fit of files is, below the command line: how the files are opened for a learner, and the
parameters it has where none are given.
"""

from collections.abc import Mapping
from typing import Any

from linsep.catalog import ESTIMATORS, REGRESSIONS, is_scaled
from linsep.parameters import parameters_of
from linsep.sources.base import Source
from linsep.sources.opening import find_files, kind_of, open_source

#: Defaults of learners in passes on files. Files may be large, and most data are not separable:
#: ten passes, not a thousand. If classes overlap, the last weights depend on the last few rows;
#: averaged weights do not.
USUAL: dict[str, Any] = {"max_iter": 10, "keep": "average"}


def opened_for(
    learner: str,
    data: Any,
    *,
    intercept: bool = True,
    scale: str | None = None,
    reference_level: Any = None,
    format: str | None = None,
    **how: Any,
) -> Source:
    """Open files for the learner of this name.

    Parameters
    ----------
    learner : str
    data : list of str
    intercept : bool
        Whether it learns an intercept.
    scale : str, optional
        As in :func:`linsep.open_source`; by default "standard" for the columns of a table, unless
        the learner takes no negative values or estimates in units of the columns.
    reference_level : dict, optional
        Also as there; by default "first" if a regression has an intercept.
    format, how : further arguments of :func:`linsep.open_source`
    """
    # Svmlight text and Vowpal Wabbit's have no columns to encode.
    table = kind_of(find_files(list(data), format), format) == "table"
    if scale is None:
        scale = "standard" if table and is_scaled(learner) else "none"
    if reference_level is None and table and intercept and learner in REGRESSIONS:
        # A full set of indicators adds up to the intercept, so that their estimates are not
        # determined; naive Bayes, which has no intercept to leave out, estimates none jointly.
        reference_level = "first" if "fit_intercept" in parameters_of(ESTIMATORS[learner]) else None
    return open_source(
        data, scale=scale, reference_level=reference_level or None, format=format, **how
    )


def make_estimator(learner: str, given: Mapping[str, Any], usual: Mapping[str, Any] = USUAL) -> Any:
    """Return the learner of this name with the given parameters, and ``usual`` ones for the rest,
    which regressions do not have.
    """
    others = {} if learner in REGRESSIONS else dict(usual)
    return ESTIMATORS[learner](**others | dict(given))
