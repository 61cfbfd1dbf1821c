"""docs/reference/errors.md quotes the messages that commands print."""

import re

from command_line import here
from documents import ROOT

PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8").partition("## Codes")[0]
QUOTED = re.findall(r"^\| `(.+?)` \|", PAGE, re.M)
ROWS = "radius,b\n1,x\n2,y\n3,x\n4,y\n"
#: what is typed, and the data, in the order of the page; `model` was trained on ROWS
TYPED = [
    ("fit data.csv --target b", ROWS.replace(",", ";")),
    ("fit data.csv --target diagnose", ROWS),
    ("fit data.csv --target radius", ROWS.replace("2,y", "2,")),
    ("fit data.csv --target b", ROWS.replace("x", "Köln").encode("cp1252")),
    ("fit data.csv --target b", ROWS.replace("2,y", "2")),
    ("fit data.csv --target label", "radius,label\n1,b\n2,b\n"),
    ("fit data.csv --target b --model model", ROWS),
    ("predict model data.csv", "texture\n1\n"),
    ("fit data.csv --target b --learner logistic", "radius,b\n0,x\n0,y\n1,y\n1,y\n"),
    ("predict data.csv model", ROWS),
    ("fit data.csv --target b --lerner pa", ROWS),
]


def test_a_command_prints_the_quoted_message(tmp_path):
    for quoted, typed in [*zip(QUOTED, TYPED, strict=True)]:
        command, data = typed
        table = tmp_path / "data.csv"
        table.write_text(ROWS)
        here("fit", "data.csv", "--target", "b", "--model", "model", cwd=tmp_path)
        table.write_bytes(data if isinstance(data, bytes) else data.encode())
        done = here(*command.split(), cwd=tmp_path)
        words = [re.escape(part.strip()) for part in quoted.split("...")]
        assert re.search(".*".join(words), " ".join(done.stderr.split())), done.stderr
