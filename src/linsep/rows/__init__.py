"""Row streams: passes over arrays, sources, row caches and kernels, and the order of rows."""
