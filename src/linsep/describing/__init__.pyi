from .describing import Description as Description, next_command as next_command
from .facts import Facts as Facts, describe as describe, pairs_of as pairs_of, table_of as table_of
