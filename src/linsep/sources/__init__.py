"""Where rows come from: arrays, svmlight text, tables; again and again, in flat memory."""

from linsep.lazy import loader

_HOMES = {
    "ArraySource": "linsep.sources.arrays",
    "Batch": "linsep.sources.base",
    "Source": "linsep.sources.base",
    "SvmlightSource": "linsep.sources.svmlight",
    "TableSource": "linsep.sources.tables",
    "load_svmlight": "linsep.sources.svmlight",
    "load_table": "linsep.sources.tables",
    "open_source": "linsep.sources.opening",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
