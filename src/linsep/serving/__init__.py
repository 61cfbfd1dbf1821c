"""A model over HTTP: predictions, explanations, and durable online learning.

``app`` answers the endpoints, and ``openapi`` declares them. ``requests`` checks hosts and tokens
and reads bodies, ``limits`` has the budget of a request, ``rows`` reads rows as sources. ``model``
predicts; ``learning`` is the only writer, and ``log`` its SQLite file. ``server`` runs uvicorn and
handles signals and replaced models; ``metrics`` counts for Prometheus.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
