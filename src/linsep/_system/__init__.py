"""What an operating system is needed for: interrupts, threads, files and caches.

``interrupts``: Ctrl-C, deferred while something must not be torn. ``threads``: as many as
affinity and containers allow. ``files``: written whole or not at all; temporary ones, which the
next process removes. ``sealed``: arrays and a description with a checksum. ``caches``: folders
that only this user can write, and how they are trimmed.
"""
