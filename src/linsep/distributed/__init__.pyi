from .cluster import ClusterError as ClusterError, connected as connected
from .fitting import check as check, fit as fit
