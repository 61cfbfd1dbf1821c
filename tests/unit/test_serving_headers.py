"""Headers of requests: tokens in any case, and bodies with the separator that they name."""

from contextlib import closing

import pytest

from linsep import open_source
from linsep.errors import DataError

pytest.importorskip("uvicorn")

from linsep.serving.bodies import Bodies
from linsep.serving.limits import Limits, Refused
from linsep.serving.requests import Guard

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("scheme", [b"Bearer", b"bearer", b"BEARER"])
def test_the_scheme_of_a_token_is_of_any_case(scheme):
    guard = Guard("secret")
    guard.check([(b"host", b"x"), (b"authorization", scheme + b" secret")])
    for wrong in (scheme + b" Secret", scheme, b"secret", b"Basic secret", scheme + b"secret"):
        with pytest.raises(Refused, match="needs its token"):
            guard.check([(b"authorization", wrong)])


def test_tabs_are_told_by_the_content_type(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;y\n1;2;0\n3;4;1\n")
    recipe = open_source(path, target="y", delimiter=";").recipe()
    with closing(Bodies(Limits())) as bodies:
        for format, body in (("csv", b"a;b\n5;6\n"), ("tsv", b"a\tb\n5\t6\n")):
            with bodies.opened(body, format, recipe) as source:
                (batch,) = source.batches()
                assert batch.X.tolist() == [[5, 6]]
        with pytest.raises(DataError) as refused, bodies.opened(b"a,b\n5,6\n", "csv", recipe):
            pass
    assert str(refused.value).endswith(".")
