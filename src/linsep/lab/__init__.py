"""The lab: points, a learner and its run in one HTML file that opens by double click.

``engine`` computes, in JavaScript: each learner is its rule again, checked against the textbook.
``page`` shows. ``file`` joins them with ready-made points (``ready``) and lessons; ``points`` makes
scenes of data files, traces and models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
