"""Fits on a cluster with dask.distributed: ``pip install 'linsep[dask]'``; docs/how-to/cluster.md.

``shards`` locates rows in files and reads them on a worker; ``rows`` holds them on the workers,
with a description for the client; ``collections`` reads Dask collections. ``cluster`` runs tasks by
name and reports failures. ``online`` mixes parameters; ``lanes`` and ``regressions`` compute sums
and passes that are bit-identical to a fit in one process; ``fitting`` joins them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
