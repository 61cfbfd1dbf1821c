"""Services of the operating system: interrupts, deferred during critical sections; threads; files,
written atomically, and temporary ones, which the next process removes; sealed files, with a
checksum; caches in folders that only this user can write.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
