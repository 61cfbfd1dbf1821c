"""Files of https servers, by a client that trusts their certificate and by one that does not."""

import datetime
import os
import ssl
import subprocess
import sys
from ipaddress import IPv4Address

import pytest
from campaign.web_server import WebServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

pytest.importorskip("aiohttp")
pytestmark = [pytest.mark.compiled, pytest.mark.thorough]  # the interpreter would receive the same
ROWS = 500_000  # more than come with the first answer

CLIENT = """
import sys
from linsep import open_source
rows = [batch.X for batch in open_source(sys.argv[1], target="y").batches()]
print(sum(map(len, rows)), sum(X.sum() for X in rows))
"""


def certificate(folder):
    """Write a certificate of 127.0.0.1, signed by itself, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(1))
        .not_valid_after(now + datetime.timedelta(1)).add_extension(names, False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path, encoding = folder / "certificate.pem", serialization.Encoding.PEM
    path.write_bytes(signed.public_bytes(encoding) + key.private_bytes(encoding, *form))
    return path


@pytest.mark.parametrize("trusted", [True, False])
def test_https_with_a_certificate_that_is_trusted_and_one_that_is_not(tmp_path, trusted):
    path = certificate(tmp_path)
    rows = "a,y\n" + "".join(f"{k}.5,{k % 2}\n" for k in range(ROWS))
    with WebServer({"/rows.csv": rows.encode()}) as server:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(path)
        server._server.socket = tls.wrap_socket(server._server.socket, server_side=True)
        url = server.url.replace("http:", "https:") + "/rows.csv"
        env = os.environ | ({"SSL_CERT_FILE": str(path)} if trusted else {})
        found = subprocess.run(
            [sys.executable, "-c", CLIENT, url], env=env, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
    if trusted:
        assert found.stdout == f"{ROWS} {ROWS**2 / 2}\n", found.stderr
    else:
        assert "certificate" in found.stderr.splitlines()[-1]
        assert not found.stdout
