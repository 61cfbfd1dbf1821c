"""The lab: points, a learner and its run in a browser.

``settings`` are declared parameters with labels and texts in URLs. A ``scene`` is points with
settings, from names, URLs, the page or CSV (``scene_sources``). ``run`` computes its run in
columns, which ``page/`` shows: JavaScript in the server's page and in standalone HTML files.
``fits`` and ``optimizing`` are the modes without a run; ``proof`` has the proofs and ``course`` the
lessons.
``answer`` is stateless; ``pages`` and ``server`` write and serve the page with Panel.

``static`` writes a folder of files whose Python runs in a browser: the modules that it lists import
the standard library only, among them ``verdict`` and ``certificate``. ``declared`` has the facts
about estimators and ready-made points that they need, and ``library`` the proofs that need the
whole library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
