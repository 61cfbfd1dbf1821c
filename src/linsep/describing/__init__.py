"""What a data set holds, found out in one reading with bounded memory.

``columns`` of ``tables``, ``vectors`` of svmlight and Vowpal Wabbit's text; ``describing`` adds
labels, separability at a glance, and the command to type next; ``facts`` is the result, also as
text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
