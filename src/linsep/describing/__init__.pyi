from .advice import next_command as next_command
from .describing import Description as Description
from .facts import Facts as Facts, describe as describe
