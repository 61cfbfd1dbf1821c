"""Services of the operating system: interrupts, threads, files and caches.

``interrupts``: Ctrl-C, deferred during critical sections. ``threads``: as many as affinity and
containers allow. ``files``: files written atomically, and temporary files, which the next process
removes. ``sealed``: arrays and a description with a checksum. ``caches``: folders that only this
user can write, and their trimming.
"""
