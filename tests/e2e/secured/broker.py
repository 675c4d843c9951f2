"""A broker that requires a password, or a certificate, or both, and that asks whether
who came in may do what they want.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide some
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from tests.e2e.certificates import Certificate, authority, signed
from tests.ports import HOST, free_ports
from verdict.adapters.local.broker import EmbeddedBroker

PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
    "BOTH": "SASL_SSL",  # a password and a certificate
    "SASL": "SASL_SSL",
    "TLS": "SSL",
}
MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class Secured:
    """What a client needs: an address for each way in, who vouches for the broker, who we are."""

    both: str
    sasl: str
    tls: str
    plain: str
    ca: Path
    mine: Certificate


@contextmanager
def secured_broker(
    folder: Path, users: Collection[str], password: str, key_password: str
) -> Iterator[Secured]:
    """Run a broker with SCRAM-SHA-512 and PLAIN over TLS, with and without client certificates.

    Who comes in clear, or by a certificate alone, may do everything, the users nothing yet.

    Args:
        folder: Takes everything.
        users: Their names.
        password: Of each user, by either mechanism.
        key_password: Of the key to the client's certificate.
    """
    folder.mkdir()
    ca = authority(folder, "authority")
    mine = signed(ca, folder, "client", password=key_password)
    port, controller, *ports = free_ports(5)
    ways = dict(zip(("BOTH", "SASL", "TLS"), ports, strict=True))
    properties = _properties(ways, controller, ca, signed(ca, folder, "server", host=HOST))
    properties |= _passwords(users, password)
    with EmbeddedBroker(folder / "broker", port, properties) as broker:
        _add(users, broker.bootstrap_servers, password)
        both, sasl, tls = (f"{HOST}:{port}" for port in ports)
        yield Secured(both, sasl, tls, broker.bootstrap_servers, ca.file, mine)


def _properties(
    ways: dict[str, int], controller: int, ca: Certificate, server: Certificate
) -> dict[str, str]:
    keystore = server.key.with_name("server-keystore.pem")
    keystore.write_text(server.key.read_text() + server.file.read_text())
    named = ",".join(f"{name}://{HOST}:{port}" for name, port in ways.items())
    return {
        "listeners": f"PLAINTEXT://{HOST}:{{port}},{named},CONTROLLER://{HOST}:{controller}",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{{port}},{named}",
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in PROTOCOLS.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca.file),
        "listener.name.both.ssl.client.auth": "required",
        "listener.name.tls.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:CN=client",
    }


def _passwords(users: Collection[str], password: str) -> dict[str, str]:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    # once more, as Java's properties know the backslash too, and `format` the brace
    escaped = quoted.replace("\\", "\\\\").replace("{", "{{").replace("}", "}}")
    known = " ".join(f'user_{user}="{escaped}"' for user in users)
    plain = f"{MODULES}.plain.PlainLoginModule required {known};"
    found = {}
    for name in ("both", "sasl"):
        start = f"listener.name.{name}"
        found[f"{start}.sasl.enabled.mechanisms"] = "SCRAM-SHA-512,PLAIN"
        scram = f"{MODULES}.scram.ScramLoginModule required;"
        found[f"{start}.scram-sha-512.sasl.jaas.config"] = scram
        found[f"{start}.plain.sasl.jaas.config"] = plain
    return found


def _add(users: Collection[str], servers: str, password: str) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wanted: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, info, password.encode()) for user in users
    ]
    admin = AdminClient({"bootstrap.servers": servers})
    for answer in admin.alter_user_scram_credentials(wanted).values():
        answer.result(30)
