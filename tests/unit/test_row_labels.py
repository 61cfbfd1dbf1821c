"""Row numbers and labels that pandas writes beside the columns are not learned from unnoticed."""

import numpy as np
import pandas as pd
import pytest

from command_line import assert_refused, here
from linsep.errors import DataError
from whole_files import load_table

pytestmark = pytest.mark.compiled

TABLE = pd.DataFrame({"a": np.arange(20) % 7, "y": ["p"] * 10 + ["q"] * 10})
SAID = {
    "rows.csv": "{} has a column without a name, such as row numbers written by pandas: name it or "
                'leave it out with exclude=[""].',
    "rows.parquet": "{}, column '__index_level_0__' holds the row labels of a pandas table: rename "
                    'it or leave it out with exclude=["__index_level_0__"].',
}  # fmt: skip


@pytest.fixture(params=SAID)
def path(request, tmp_path):
    path = tmp_path / request.param
    some = TABLE[TABLE["a"] > 0]
    some.to_csv(path) if path.suffix == ".csv" else some.to_parquet(path)
    return path


def test_they_are_noticed(path):
    with pytest.raises(DataError) as caught:
        load_table(path, target="y")
    assert str(caught.value) == SAID[path.name].format(path)
    name = "" if path.suffix == ".csv" else "__index_level_0__"
    X, _, names = load_table(path, target="y", exclude=name)
    assert names == ["a"]
    assert X.ravel().tolist() == TABLE["a"][TABLE["a"] > 0].tolist()


def test_what_describe_says_next_leaves_them_out(path):
    done = here("describe", path.name, "--target", "y", cwd=path.parent)
    name = "''" if path.suffix == ".csv" else "__index_level_0__"
    (command,) = [line for line in done.stdout.splitlines() if line.startswith("next ")]
    assert f" --exclude {name} " in command
    assert any(line.split()[0] == name for line in done.stdout.splitlines() if line)
    assert_refused("fit", path.name, "--target", "y", cwd=path.parent, code="column-type")


def test_a_label_may_have_any_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",a\np,1\nq,2\n")
    assert load_table(path, target="")[1].tolist() == ["p", "q"]
