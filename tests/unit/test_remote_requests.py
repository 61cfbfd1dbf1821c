"""What is asked of a server: no byte of a file twice while it is opened and read once."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from campaign.web_server import WebServer

from linsep import Perceptron, open_source

pytestmark = pytest.mark.compiled
pytest.importorskip("aiohttp")


def lines_of(table, pairs):
    rows = zip(table.kind, table.a, table.b, table.c, strict=True)
    return "".join(f"{label} {pairs.format(*values)}\n" for label, *values in rows)


@pytest.mark.parametrize("name", ["x.svm", "x.csv", "x.vw"])
def test_no_byte_of_a_text_is_asked_for_twice(tmp_path, name):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60_000, 3)), columns=["a", "b", "c"])
    table["kind"] = np.where(table.a > 0.1, 1, -1)
    texts = {
        "x.csv": lambda: table.to_csv(index=False),
        "x.svm": lambda: lines_of(table, "1:{!r} 2:{!r} 3:{!r}"),
        "x.vw": lambda: lines_of(table, "| a:{!r} b:{!r} c:{!r}"),
    }
    path, options = tmp_path / name, {"target": "kind"} if name == "x.csv" else {}
    path.write_text(texts[name]())
    assert path.stat().st_size > 3 << 20
    with WebServer({f"/{name}": path}) as server:
        source = open_source(f"{server.url}/{name}", **options)
        model = Perceptron(max_iter=1).fit(source)
        ranges = [request[2].removeprefix("bytes=").split("-") for request in server.requests]
    asked = sorted((int(start), int(end)) for start, end in ranges)
    assert asked[0][0] == 0
    assert all(end < start for (_, end), (start, _) in pairwise(asked)), asked
    local = Perceptron(max_iter=1).fit(open_source(path, **options))
    np.testing.assert_array_equal(model.coef_, local.coef_)
