"""Headers of requests: tokens in any case, bodies with the separator that they name, lengths."""

import time
from contextlib import closing

import pytest

import linsep
from linsep import open_source
from linsep.errors import DataError

pytest.importorskip("uvicorn")

from linsep.serving.limits import Budget, Limits, Refused
from linsep.serving.requests import TokenCheck
from linsep.serving.rows import Bodies
from served import serving

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("scheme", [b"Bearer", b"bearer", b"BEARER"])
def test_the_scheme_of_a_token_is_of_any_case(scheme):
    guard = TokenCheck("secret")
    guard.check([(b"host", b"x"), (b"authorization", scheme + b" secret")])
    for wrong in (scheme + b" Secret", scheme, b"secret", b"Basic secret", scheme + b"secret"):
        with pytest.raises(Refused, match="requires a token"):
            guard.check([(b"authorization", wrong)])


def test_tabs_are_told_by_the_content_type(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;y\n1;2;0\n3;4;1\n")
    recipe = open_source(path, target="y", delimiter=";").recipe()
    with closing(Bodies(Limits())) as bodies:
        for format, body in (("csv", b"a;b\n5;6\n"), ("tsv", b"a\tb\n5\t6\n")):
            with bodies.opened(body, format, recipe, Budget(Limits())) as source:
                (batch,) = source.batches()
                assert batch.X.tolist() == [[5, 6]]
        with (
            pytest.raises(DataError) as caught,
            bodies.opened(b"a,b\n5,6\n", "csv", recipe, Budget(Limits())),
        ):
            pass
    assert str(caught.value).endswith(".")


def test_who_sends_all_before_it_reads_sees_why_a_body_is_refused(tmp_path):
    """As http.client and urllib do: a connection that is reset would not tell."""
    for length in (15 * 10**6, 10**6):
        with serving(small(tmp_path), limits=Limits(body=10**6 - 1)) as client:
            for sent in (b" " * length, (b" " * 10**5 for _ in range(length // 10**5))):
                status, found, _ = client.ask("POST", "/predict", sent, "application/json")
                assert (status, "more than 976.6 kB" in found["error"]) == (413, True)


def test_endless_bodies_are_not_read_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("linsep.serving.requests.DISCARD_SECONDS", 0.2)
    with serving(small(tmp_path), limits=Limits(body=1000)) as client, client.raw() as one:
        one.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 413")


def test_text_columns_count_as_columns_of_the_model(tmp_path):
    names = [f"t{k}" for k in range(12)]
    rows = "".join(f"{'a' if k % 2 else 'b'},{k % 2}\n" for k in range(9))
    wide = rows.replace(",", ",x" * 11 + ",")
    (tmp_path / "t.csv").write_text(f"{','.join(names)},y\n{wide}")
    source = open_source(tmp_path / "t.csv", target="y")
    path = linsep.save(linsep.Perceptron(max_iter=2).fit(source), tmp_path / "t.linsep")
    line = ",".join(["a"] + ["x"] * 11)
    with serving(path, limits=Limits(features=5)) as client:
        body = f"{','.join(names)}\n{line}\n".encode()
        assert client.post("/predict", body, "text/csv") == client.predict([line.split(",")])
        many = ",".join(f"more{k}" for k in range(30))
        status, found = client.refused("/predict", f"{many}\n".encode(), "text/csv")
        assert (status, "more than 5 features" in found) == (422, True)


def test_requests_that_are_refused_unread_are_counted(tmp_path):
    with serving(small(tmp_path)) as client:
        for path in ("/nope", "/nope2", "/predict"):
            client.ask("GET", path)
        with client.raw() as one:
            one.sendall(b"nonsense\r\n\r\n")
            assert one.recv(1000).startswith(b"HTTP/1.1 400")
        found = client.get("/metrics").decode()
    for path, status, number in (("other", 404, 2), ("other", 405, 1), ("other", 400, 1)):
        assert f'requests_total{{path="{path}",status="{status}"}} {number}.0\n' in found


def test_requests_beyond_the_connections_are_counted(tmp_path):
    with serving(small(tmp_path), limits=Limits(connections=2)) as client:
        client.get("/health")
        with client.raw() as one:
            one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one.recv(1000).startswith(b"HTTP/1.1 503")
        wait_until(lambda: len(client.server._uvicorn.server_state.connections) < 2)
        assert 'total{path="other",status="503"} 1.0\n' in client.get("/metrics").decode()


def test_offers_of_other_protocols_are_ignored(tmp_path):
    """Java's HttpClient offers HTTP/2 with every request; bodies count all the same."""
    body = b'{"rows": [[1.0, 2.0]]}'
    parts = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (body[:5], len(body) - 5, body[5:])
    offer = (
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n\r\n"
    )
    post = b"POST /predict HTTP/1.%d\r\nHost: localhost\r\n"
    whole = post % 1 + b"Content-Length: %d\r\n" % len(body) + offer + body
    chunked = post % 1 + b"Transfer-Encoding: chunked\r\n" + offer + parts
    old = whole.replace(b"/1.1", b"/1.0")  # after which the connection is closed
    with serving(small(tmp_path)) as client:
        for packets, number in [
            ([(whole + chunked) * 300 + old], 601),
            ([bytes([byte]) for byte in whole + chunked + old], 3),
        ]:
            with client.raw() as one:
                for packet in packets:
                    one.sendall(packet)
                answer = b"".join(iter(lambda one=one: one.recv(1 << 16), b""))
            assert answer.count(b" 200 OK") == answer.count(b'{"predictions":["a"]}') == number
        with client.raw() as one:
            one.sendall(b"CONNECT x:80 HTTP/1.1\r\n" + offer)
            assert one.recv(1000).startswith(b"HTTP/1.1 400")


def small(folder):
    model = linsep.Perceptron(max_iter=2).fit([[1.0, 2.0], [2.0, 1.0]], ["a", "b"])
    return linsep.save(model, folder / "m.linsep", force=True)


def wait_until(true):
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)
