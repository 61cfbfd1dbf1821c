"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .columns import (
    check_column as check_column,
    column_types as column_types,
    columns_of as columns_of,
    family_of as family_of,
    first_rows as first_rows,
    from_recipe as from_recipe,
    no_feature as no_feature,
)
from .files import (
    FilesInOrder as FilesInOrder,
    check_separated as check_separated,
    kinds_in as kinds_in,
    open_table as open_table,
    open_tables as open_tables,
    rechunked as rechunked,
)
from .frames import to_arrow as to_arrow
from .reading_options import ReadingOptions as ReadingOptions
from .spellings import (
    NO_NUMBER as NO_NUMBER,
    PLAIN as PLAIN,
    converted as converted,
)
from .table_file import (
    TableFile as TableFile,
    numbers_in as numbers_in,
    rows_at_once as rows_at_once,
    text_codes as text_codes,
)
