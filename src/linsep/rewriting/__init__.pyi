from .converting import (
    Table as Table,
    write_parquet as write_parquet,
    write_svmlight as write_svmlight,
)
from .splitting import PARTS as PARTS, Split as Split
