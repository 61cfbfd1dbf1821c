"""What open_source does not take for names of files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linsep import open_source


def test_names_may_come_from_a_glob(tmp_path):
    for name in ("a.svm", "b.svm"):
        (tmp_path / name).write_text("1 1:1\n-1 2:1\n")
    batches = open_source(Path(tmp_path).glob("*.svm")).batches()
    assert sum(batch.X.shape[0] for batch in batches) == 4


@pytest.mark.parametrize(
    "data", [None, 3, [1, 2], b"rows.csv", np.zeros((2, 2)), pd.Series([1, 2])]
)
def test_data_that_are_no_paths_are_refused_in_one_sentence(data):
    said = f"^data is of type {type(data).__name__}: pass a path, a list of paths or a data frame"
    with pytest.raises(TypeError, match=said):
        open_source(data)
