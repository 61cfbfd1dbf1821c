"""Descriptions of data sets, made in one reading with bounded memory.

``tables`` describes tables column by column; ``describing`` also describes svmlight and Vowpal
Wabbit's text, and adds labels and a quick test of separability, ``advice`` the learner and the next
command; ``facts`` is the result, also as text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
