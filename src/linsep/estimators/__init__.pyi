"""Public names, as :mod:`lazy_loader` finds them at run time and type checkers read them."""

from .frames import in_memory as in_memory
from .labels import (
    check_two_classes as check_two_classes,
    feature_names as feature_names,
    has_offset as has_offset,
    is_turned as is_turned,
    label_text as label_text,
    plain_labels as plain_labels,
    source_labels as source_labels,
)
from .predicting import probabilities_of as probabilities_of
from .reading import StopReason as StopReason
from .thresholds import (
    Rule as Rule,
    Threshold as Threshold,
    threshold_of as threshold_of,
)
