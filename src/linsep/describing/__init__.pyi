from .columns import MOST_LABELS as MOST_LABELS
from .describing import Description as Description, next_command as next_command
