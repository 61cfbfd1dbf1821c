"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .files import (
    check_free as check_free,
    scratch_folder as scratch_folder,
    written_whole as written_whole,
)
from .interrupts import (
    interruption_point as interruption_point,
    interrupts_allowed as interrupts_allowed,
    interrupts_deferred as interrupts_deferred,
)
from .threads import (
    one_blas_thread as one_blas_thread,
    thread_count as thread_count,
)
