from .cluster import ClusterError as ClusterError
from .fitting import fit as fit
from .verdicts import separation as separation
