from .cluster import ClusterError as ClusterError, connected as connected
from .fitting import check as check, check_data as check_data, fit as fit
from .verdicts import opened_by as opened_by, separation as separation
