"""Public names, and those that other tools use, as :mod:`lazy_loader` finds them at run time."""

from . import datasets as datasets, textbook as textbook
from .convergence import Convergence as Convergence
from .grading import (
    Grade as Grade,
    WrongAnswer as WrongAnswer,
    check as check,
    check_function as check_function,
    grade as grade,
)
from .rounds import (
    Ending as Ending,
    listed as listed,
    trace_rows as trace_rows,
    vector_names as vector_names,
    vectors_of as vectors_of,
)
from .tables import (
    exact_number as exact_number,
    latex_table as latex_table,
    markdown_table as markdown_table,
    short_number as short_number,
)
from .trace_table import Trace as Trace, TraceRow as TraceRow
from .tracing import (
    MOST_NUMBERS as MOST_NUMBERS,
    check_size as check_size,
    index_of as index_of,
    visiting_orders as visiting_orders,
)
