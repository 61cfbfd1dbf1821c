"""The lab: points, a learner and its run in a browser.

``settings`` are declared parameters with labels and addresses; a ``scene`` is points with
settings, from names, addresses, the page or CSV (``scene_sources``). ``run`` is what the library
computes of it, in columns, which ``page/`` scrubs: JavaScript in the server's page and in an HTML
file of its own. ``fits`` and ``optimizing`` are the rooms without a run, ``proof`` and ``course``
(lessons) stand beside them. ``answer`` is stateless; ``pages`` and ``server`` are Panel's.

``static`` writes a folder of files whose Python runs in a browser: the modules that it lists import
the standard library only, among them ``verdict`` and ``certificate``. ``declared`` has what these
know of estimators and ready-made points; ``library`` proves what only the whole library can.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
