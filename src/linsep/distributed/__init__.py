"""Fits on a cluster, by dask.distributed: ``pip install 'linsep[dask]'``; docs/how-to/cluster.md.

``shards`` are addresses of rows, and how a worker reads them; ``rows`` are on the workers, with
what the client knows of them; ``collections`` are Dask's. ``cluster`` runs tasks by name and puts
failures into a sentence. ``online`` mixes parameters; ``lanes``, ``regressions``, ``logistic``
and ``verdicts`` are the sums and passes of one machine, to the same bits; ``fitting`` joins them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
