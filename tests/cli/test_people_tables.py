"""A table as people have it, on the command line: each refusal names the option that helps."""

import re

import pytest

from command_line import assert_refused, here

SHOP = """# exported 2024-03-02
id,price,share,day,rank,zip,bought
1,"$1,234.50",5%,31.01.2024,1,02134,yes
2,"($3.00)",\u22127%,01.02.2024,2,00501,no
3,,12,02.02.2024,4,10001,yes
4,12,1,01.03.2024,1,10001,no
5,"1,200",8%,31.01.2024,1,02134,yes
6,15,\u22127%,01.02.2024,2,00501,no
"""
COMMENT = ("--comment", "#")
NUMBERS = ("--units", "--thousands", ",")
WHOLE = (
    *COMMENT, *NUMBERS, "--exclude", "id", "--date", "day=%d.%m.%Y", "--categorical", "rank",
    "--missing", "mean",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.csv").write_text(SHOP)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "line 1 is a comment: skip lines like it with --comment '#'"),
        (COMMENT, "'price' holds numbers in a special notation (such as '$1,234.50'): read them "
                  "with --units and --thousands , or keep its values as categories with "
                  "--categorical price"),
        ((*COMMENT, *NUMBERS), "'day' holds dates (such as '31.01.2024'): read days with --date "
                               "day=%d.%m.%Y, keep its values"),
        ((*COMMENT, *NUMBERS, "--date", "day"), "line 3, column 'day' holds '31.01.2024', not a "
                                                "date of the form 2024-01-31"),
        ((*COMMENT, *NUMBERS, "--exclude", "d*"), "line 5, column 'price' has no value"),
        ((*COMMENT, "--decimal", "xx"), "decimal is 'xx': give one character"),
        ((*COMMENT, "--numeric", "prize"), "has no column 'prize', only id, price,"),
        ((*COMMENT, "--encoding", "klingon"), "encoding is 'klingon': give a name"),
    ],
)  # fmt: skip
def test_refusals_name_the_option(shop, options, said):
    assert_refused(
        "fit", "shop.csv", "--target", "bought", *options, cwd=shop, said=re.escape(said)
    )


def test_from_a_description_to_predictions(shop):
    described = here("describe", "shop.csv", "--target", "bought", *COMMENT, cwd=shop).stdout
    assert "--comment '#' --learner perceptron --units --thousands , --exclude day" in described
    fitted = here("fit", "shop.csv", "--target", "bought", *WHOLE, "--model", "m.linsep", cwd=shop)
    assert fitted.returncode == 0, fitted.stderr
    assert (
        "converted    price, share, zip to numbers without percent signs, currencies and "
        "similar marks; day to days since 1970\n"
    ) in fitted.stdout
    # The model knows how to read the file.
    predicted = here("predict", "m.linsep", "shop.csv", cwd=shop)
    assert predicted.stdout.split() == ["yes", "no"] * 3
    shown = here("inspect", "m.linsep", cwd=shop).stdout
    assert "rank=1" in shown


def test_parquet_keeps_columns_as_they_are(shop):
    for option in ("--units", "--categorical"):
        words = (option, *["rank"] * (option == "--categorical"))
        assert_refused(
            "convert", "shop.csv", "shop.parquet", *COMMENT, *words, cwd=shop, exit_code=2,
            said=f"{option} is about features, but Parquet keeps the columns as they are",
        )  # fmt: skip
    done = here("convert", "shop.csv", "shop.svm", "--target", "bought", *WHOLE, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "shop.svm").read_text().startswith("1 1:1234.5 2:5 3:19753 4:2134 5:1\n")


def test_split_keeps_what_is_before_the_header(tmp_path):
    rows = "".join(f"{k},{k % 2}\n# note\n" for k in range(20))
    (tmp_path / "rows.csv").write_text(f"junk\n# c\na,y\n{rows}")
    how = ("--target", "y", "--skip-rows", "1", "--comment", "#")
    done = here("split", "rows.csv", "--test", "0.25", *how, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    parts = [(tmp_path / f"rows-{part}.csv").read_text().splitlines() for part in ("train", "test")]
    assert [part[:2] for part in parts] == [["junk", "a,y"]] * 2
    kept = [line for part in parts for line in part[2:] if not line.startswith("#")]
    assert sorted(kept, key=lambda line: int(line.split(",")[0])) == rows.split("\n# note\n")[:-1]
    fitted = here("fit", "rows-train.csv", "--test", "rows-test.csv", *how, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    (tmp_path / "wide.csv").write_bytes("a,y\n1,2\n".encode("utf-16"))
    assert_refused(
        "split", "wide.csv", "--test", "0.5", "--encoding", "utf-16", cwd=tmp_path,
        code="encoding",
    )  # fmt: skip
