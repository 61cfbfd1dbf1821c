"""Hot loops: numba functions on arrays and scalars that read like the textbook."""
