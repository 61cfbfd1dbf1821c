from .comparing import (
    Candidate as Candidate,
    compare as compare,
)
from .grids import grids_of as grids_of
from .side_by_side import (
    Model as Model,
    SideBySide as SideBySide,
)
