"""Hot loops: numba functions on arrays and scalars, written like the textbook algorithms."""
