from .comparing import (
    Candidate as Candidate,
    Comparison as Comparison,
    Rated as Rated,
    compare as compare,
)
from .side_by_side import (
    Model as Model,
    SideBySide as SideBySide,
    combinations as combinations,
)
