"""Values of few rows that share an indicator: how rows are encoded, and every use of the model."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

import linsep
from command_line import here
from linsep import open_source
from linsep.errors import DataError
from linsep.sources.tables.columns import from_recipe, to_recipe
from refusals import refused

TOWNS = ["Bonn"] * 6 + ["Ulm"] * 5 + ["Calw", "Calw", "Hof", "Aalen", "Zell"]
SALES = pd.DataFrame(
    {"town": TOWNS, "size": np.arange(16.0), "sold": [["no", "yes"][k % 3 > 0] for k in range(16)]}
)
NEW = pd.DataFrame({"town": ["Bonn", "Hof", "Zell", "Rom", "(rare)"], "size": [1.0, 2, 3, 4, 5]})


def rows_of(source):
    X = next(iter(source.batches())).X
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.fixture(scope="module")
def model():
    return linsep.fit(SALES, target="sold", min_count=3)


@pytest.mark.parametrize("min_count", [None, 2, 3, 7])
def test_features_are_those_of_scikit_learn(min_count):
    theirs = OneHotEncoder(min_frequency=min_count, handle_unknown="ignore", sparse_output=False)
    wanted = theirs.fit_transform(SALES[["town"]])
    source = open_source(SALES, target="sold", exclude="size", min_count=min_count)
    assert (rows_of(source) == wanted).all()
    names = [n.replace("town_infrequent_sklearn", "town=(rare)").replace("town_", "town=")
             for n in theirs.get_feature_names_out()]  # fmt: skip
    assert source.feature_names == names
    again = open_source(NEW, recipe=source.recipe(), labeled=False)
    assert (rows_of(again) == theirs.transform(NEW[["town"]])).all()
    assert again.unseen == {"town": 2}


def test_rows_are_counted_over_all_files_but_those_left_out(tmp_path):
    SALES[:9].to_csv(tmp_path / "a.csv", index=False)
    SALES[9:].assign(size=[None, *range(6)]).to_csv(tmp_path / "b.csv", index=False)
    kept = pd.concat([SALES[:9], SALES[10:]])
    source = open_source(
        [tmp_path / "a.csv", tmp_path / "b.csv"], target="sold", missing="drop", min_count=5
    )
    few = sorted(town for town, n in Counter(kept.town).items() if n < 5)
    assert "Ulm" in few
    assert source.recipe()["rare"] == {"town": {"level": "(rare)", "values": few, "min_count": 5}}


def test_a_value_may_be_called_as_the_level_is():
    frame = SALES.assign(town=[town if town != "Ulm" else "(rare)" for town in TOWNS])
    source = open_source(frame, target="sold", min_count=3)
    rows_of(source)
    assert source.feature_names == ["size", "town=(rare)", "town=Bonn", "town=((rare))"]


def test_categories_keep_their_order_before_rare_ones():
    towns = ["Zell", "Ulm", "Hof", "Calw", "Aalen", "Bonn"]
    frame = SALES.assign(town=pd.Categorical(TOWNS, towns))
    source = open_source(frame, target="sold", min_count=2)
    rows_of(source)
    names = ["town=Ulm", "town=Calw", "town=Bonn", "town=(rare)"]
    assert source.feature_names == ["size", *names]


@pytest.mark.parametrize(
    ("level", "names"),
    [
        (None, ["town=Bonn", "town=Ulm", "town=(rare)"]),
        ("first", ["town=Ulm", "town=(rare)"]),
        ({"town": "Ulm"}, ["town=Bonn", "town=(rare)"]),
        ({"town": "(rare)"}, ["town=Bonn", "town=Ulm"]),
    ],
)
def test_reference_levels(level, names):
    source = open_source(SALES, target="sold", min_count=3, reference_level=level)
    rows_of(source)
    assert source.feature_names == ["size", *names]
    again = open_source(NEW, recipe=source.recipe(), labeled=False)
    found = pd.DataFrame(rows_of(again), columns=again.feature_names)
    assert found.get("town=(rare)", pd.Series([0, 0, 0, 0, 0])).tolist() in (
        [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]
    )  # fmt: skip
    assert again.unseen == {"town": 2}
    assert to_recipe(from_recipe(source.recipe()))["rare"] == source.recipe()["rare"]


def test_a_column_of_rare_values_only():
    source = open_source(SALES, target="sold", min_count=50)
    rows_of(source)
    assert source.feature_names == ["size", "town=(rare)"]
    source = open_source(SALES, target="sold", min_count=50, reference_level="first")
    rows_of(source)
    assert source.feature_names == ["size"]


def test_what_cannot_be():
    for how, code in (
        ({"min_count": 0}, "bad-option"), ({"min_count": 2.5}, "bad-option"),
        ({"min_count": 3, "hash_bits": 8}, "conflict"),
        ({"min_count": 3, "reference_level": {"town": "Calw"}}, "unknown-value"),
    ):  # fmt: skip
        with refused(DataError, code):
            rows_of(open_source(SALES, target="sold", **how))


def test_commands_say_what_is_rare(tmp_path):
    SALES.to_csv(tmp_path / "sales.csv", index=False)
    NEW.to_csv(tmp_path / "new.csv", index=False)
    how = ("sales.csv", "--target", "sold", "--min-count", 3, "--model", "m.linsep")
    assert "4 values in fewer than 3 rows each" in here("fit", *how, cwd=tmp_path).stdout
    predicted = here("predict", "m.linsep", "new.csv", cwd=tmp_path)
    assert "2 values of column 'town' not seen" in predicted.stderr
    model = linsep.fit(SALES, target="sold", min_count=3)
    loaded = linsep.load(tmp_path / "m.linsep")
    assert (loaded.coef_ == model.coef_).all()
    assert loaded.recipe_["rare"] == model.recipe_["rare"]
