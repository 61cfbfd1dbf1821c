"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .arrays import ArraySource as ArraySource
from .base import (
    Batch as Batch,
    Source as Source,
    is_frame as is_frame,
)
from .formats import format_of as format_of
from .opening import (
    find_files as find_files,
    kind_of as kind_of,
    names_in as names_in,
    open_source as open_source,
)
from .remote.address import shown as shown
from .remote.file import (
    File as File,
    RemoteFile as RemoteFile,
)
from .svmlight import SvmlightSource as SvmlightSource
from .tables.columns import (
    check_column as check_column,
    column_types as column_types,
    columns_of as columns_of,
    family_of as family_of,
    first_rows as first_rows,
    from_recipe as from_recipe,
    no_feature as no_feature,
)
from .tables.files import (
    FilesInOrder as FilesInOrder,
    check_separated as check_separated,
    kinds_in as kinds_in,
    open_table as open_table,
    open_tables as open_tables,
    rechunked as rechunked,
)
from .tables.frames import to_arrow as to_arrow
from .tables.reading_options import ReadingOptions as ReadingOptions
from .tables.spellings import (
    NO_NUMBER as NO_NUMBER,
    PLAIN as PLAIN,
    converted as converted,
)
from .tables.table import TableSource as TableSource
from .tables.table_file import (
    TableFile as TableFile,
    numbers_in as numbers_in,
    rows_at_once as rows_at_once,
    text_codes as text_codes,
)
