from .converting import (
    RowsWriter as RowsWriter,
    SvmlightWriter as SvmlightWriter,
    TableWriter as TableWriter,
    VectorWriter as VectorWriter,
)
from .splitting import PARTS as PARTS, Split as Split
