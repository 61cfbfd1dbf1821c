"""Row streams: arrays, sources, row caches, kernels, and the order in which rows are visited."""
