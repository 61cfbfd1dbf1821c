"""Files that commands read, where a test does not make its own."""

import numpy as np
import pytest

from command_line import here


@pytest.fixture
def folder(tmp_path):
    """A folder with 60 rows of svmlight text, ``t.svm``."""
    rng = np.random.default_rng(0)
    (tmp_path / "t.svm").write_text(
        "".join(f"{k % 2} 1:{rng.integers(-4, 5)} 2:{k % 3}\n" for k in range(60))
    )
    return tmp_path


@pytest.fixture
def learned(folder):
    """The same with a model ``m`` that has learned them."""
    assert here("fit", "t.svm", "--model", "m", cwd=folder).returncode == 0
    return folder
