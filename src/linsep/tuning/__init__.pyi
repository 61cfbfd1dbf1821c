from .side_by_side import (
    Model as Model,
    SideBySide as SideBySide,
    combinations as combinations,
)
