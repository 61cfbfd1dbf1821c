"""Files on servers and in object stores, read through fsspec."""
