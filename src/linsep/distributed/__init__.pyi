from .cluster import ClusterError as ClusterError
from .fitting import fit as fit
