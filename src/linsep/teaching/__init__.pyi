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
)
from .tables import (
    exact_number as exact_number,
    latex_table as latex_table,
    markdown_table as markdown_table,
    short_number as short_number,
)
from .trace_table import Trace as Trace, TraceRow as TraceRow
from .tracing import (
    check_size as check_size,
    index_of as index_of,
    kernel_trace as kernel_trace,
)
