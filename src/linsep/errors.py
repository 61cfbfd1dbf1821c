"""What linsep raises. Each message is one sentence: what is wrong, where, and what to do."""


class LinsepError(Exception):
    """Anything linsep refuses to do; the command line prints it and exits with 1."""


class DataError(LinsepError, ValueError):
    """The data cannot be used as they are: what is wrong, where (file, line or row), what to do."""


class ModelFileError(LinsepError, ValueError):
    """A model file is damaged, foreign, of an unknown version, or would be overwritten."""
