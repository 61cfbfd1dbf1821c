"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .intervals import intervals_of as intervals_of
from .metrics import (
    CLASS_METRICS as CLASS_METRICS,
    NUMBER_METRICS as NUMBER_METRICS,
    baselines_of as baselines_of,
    metrics_of as metrics_of,
)
from .rows import (
    MOST_ROWS as MOST_ROWS,
    Scored as Scored,
    scored as scored,
)
from .scores import (
    gaps_of as gaps_of,
    recipe_with as recipe_with,
    score as score,
    scores_of as scores_of,
)
