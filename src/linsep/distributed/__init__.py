"""Fits on a cluster, by dask.distributed: ``pip install 'linsep[dask]'``; see docs/cluster.md."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
