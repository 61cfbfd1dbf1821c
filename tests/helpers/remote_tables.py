"""A small table for tests of remote files, and the rows that linsep reads from an address."""

import numpy as np
import pandas as pd

from linsep import open_source


def small_table():
    """Return 300 rows of three numbers and a label."""
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    return made.assign(kind=np.where(made.a > 0, "yes", "no"))


def rows_of(data):
    """Return the bytes of all features, and the labels."""
    batches = list(open_source(data, target="kind").batches())
    X = np.concatenate([batch.X for batch in batches])
    return X.tobytes(), np.concatenate([batch.y for batch in batches]).tolist()


def impatient(patch, silence=30.0, fresh=0.02, small=True):
    """Wait shortly before requests are made again, and for answers; ask for small ranges, and take
    nothing for fresh for long.
    """
    from linsep.sources.remote import answers, file

    patch.setattr(answers, "FIRST_PAUSE", 0.001)
    patch.setattr(answers, "SILENCE", silence)
    patch.setattr(file, "FRESH", fresh)
    if small:
        small_blocks(patch)


def small_blocks(patch, head=2048, block=4096, tail=1000, ahead=16384, piece=3000):
    """Ask for small ranges."""
    from linsep.sources.remote import file, streams

    sizes = {"HEAD": head, "BLOCK": block, "TAIL": tail, "AHEAD": ahead}
    for name, size in sizes.items():
        patch.setattr(streams, name, size)
    patch.setattr(file, "PIECE", piece)


def new_stores():
    """Forget the access to stores, whose settings are others now."""
    from linsep.sources.remote import stores

    stores._filesystem.cache_clear()
