"""Names that the command line uses, as :mod:`lazy_loader` finds them at run time."""

from .file import lab_file as lab_file, lesson_of_code as lesson_of_code
from .points import (
    address_of_file as address_of_file,
    address_of_model as address_of_model,
    page_of_trace as page_of_trace,
)
