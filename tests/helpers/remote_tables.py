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
