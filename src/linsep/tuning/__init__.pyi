from .comparing import (
    Candidate as Candidate,
    compare as compare,
)
from .grids import grids_of as grids_of, usual_grid as usual_grid
from .side_by_side import (
    Model as Model,
    SideBySide as SideBySide,
    combinations as combinations,
)
