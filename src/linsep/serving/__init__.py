"""A model over HTTP: predictions, explanations, and rows that it learns without losing any.

``app`` answers each address, and ``openapi`` declares them. ``requests`` knows hosts, tokens and
bodies, ``limits`` the budget of a request, ``rows`` what is sent, as sources. ``model`` predicts,
for small requests together; ``learning`` is the one writer, and ``log`` its SQLite file with a
lock. ``connections`` and ``server`` are uvicorn, signals and new models; ``metrics`` are
Prometheus'.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
