"""Without any one of the ACLs that are printed, a part of verdict that its role uses fails.

No service runs here: that the decider and the reader use every topic is taken as given, and what
they may do with each is tried by their parts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide one
    AclBindingFilter,
    AdminClient,
)

from commands.order import ModifyOrder
from commands.position import ClosePosition
from tests.application import APPLICATION
from tests.client.conftest import PARTITIONS, TYPES, Responder
from tests.e2e.secured.broker import Secured
from tests.e2e.secured.conftest import allow, binding
from tests.e2e.secured.life import Environment, as_role, options_of
from tests.tiers import the_first_of
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.cli.acls import Acl, KafkaPrincipal, least_acls
from verdict.client.client import Client
from verdict.client.errors import SendFailedError
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.topic_owner import claim_topics
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.topics import Topics

pytestmark = pytest.mark.timeout(300)

LEAST = Topics(APPLICATION, "least", "least-", partitions=PARTITIONS)
SECONDS = 10
REFUSED = (VerdictError, SendFailedError, KafkaException, TransactionFailedError)
Act = Callable[[dict[str, Any]], object]


def check_topics(options: dict[str, Any]) -> None:
    TopicAdmin(options, LEAST).differences()


def read(options: dict[str, Any], *names: str) -> None:
    with KafkaLog(options, SECONDS) as log:
        assert [*log.read(log.bounds(log.places(names)))]


def follow(options: dict[str, Any]) -> None:
    read(options, *map(LEAST.events, TYPES), LEAST.skips)


def look(options: dict[str, Any]) -> None:
    read(options, *(topic.name for topic in LEAST.all()))


def send(options: dict[str, Any], own_replies: bool = False) -> None:
    with Client(
        APPLICATION, options["bootstrap.servers"], LEAST, options, own_replies=own_replies
    ) as client:
        for command in (ModifyOrder(quantity=1), ClosePosition()):
            client.send("a", command, expected_version="ANY").wait(SECONDS)


def send_and_read_own(options: dict[str, Any]) -> None:
    send(options, own_replies=True)


def publish(options: dict[str, Any]) -> None:
    """Write where the service may: outcomes, what policies ask for, letters that come again."""
    transactions = Transactions(kafka_of(options), LEAST.transactional_id("decider"))
    try:
        transactions.begin()
        for topic in LEAST.all():
            if topic.name not in {LEAST.owners, *LEAST.states}:
                transactions.produce(topic.name, b"?", b"?")
        transactions.send_offsets({LEAST.commands("order"): [0]})
        transactions.flush()
        transactions.abandon()
    finally:
        transactions.close()


def own(options: dict[str, Any]) -> None:
    claim_topics(LEAST, kafka_of(options))


def kafka_of(options: dict[str, Any]) -> KafkaConfig:
    return KafkaConfig(settings=options, transaction_timeout_s=SECONDS)


ACTS: dict[KafkaPrincipal, tuple[Act, ...]] = {
    KafkaPrincipal.DECIDER: (check_topics, look, publish, own),
    KafkaPrincipal.SENDER: (send, send_and_read_own),
    KafkaPrincipal.SUBSCRIBER: (follow,),
    KafkaPrincipal.READER: (check_topics, look),
}


@pytest.fixture(scope="module")
def admin(kafka: Secured) -> Iterator[AdminClient]:
    """Of who may do everything; another deployment's topics are there, and who answers senders."""
    plain = {"bootstrap.servers": kafka.plain, "log_level": "0"}
    TopicAdmin(plain, LEAST).create_missing()
    admin = AdminClient({**plain})
    allow(admin, least_acls(LEAST))
    responder = Responder(kafka.plain, LEAST)
    responder.start()
    send(dict(plain))
    producer = Producer(plain)
    for topic in LEAST.all():
        if topic.name not in {LEAST.owners, *map(LEAST.commands, TYPES)}:
            producer.produce(topic.name, b"?", b"?")
    assert producer.flush(30) == 0
    yield admin
    responder.stop()


@contextmanager
def without(admin: AdminClient, acl: Acl) -> Iterator[None]:
    """Take one thing away from its role until the block ends."""
    bound = binding(acl)
    wanted = AclBindingFilter(
        bound.restype, bound.name, bound.resource_pattern_type, bound.principal, bound.host,
        bound.operation, bound.permission_type,
    )  # fmt: skip
    for deleted in admin.delete_acls([wanted]).values():
        assert len(deleted.result(30)) == 1
    while admin.describe_acls(wanted).result(30):
        pass
    try:
        yield
    finally:
        allow(admin, [acl])
        while not admin.describe_acls(wanted).result(30):
            pass


def failures(settings: Environment, role: KafkaPrincipal) -> str:
    """Let a role do what it does, and return what it says of what it may not."""
    servers = settings["VERDICT_BOOTSTRAP_SERVERS"]
    options = options_of(as_role(role, settings)) | {"bootstrap.servers": servers}
    said = ""
    for act in ACTS[role]:
        try:
            act(dict(options))
        except REFUSED as error:
            said += f"{error}\n"
    return said


def disown(servers: str) -> None:
    """Remove the owner of the topics, so that they are claimed again."""
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    producer.produce(LEAST.owners, None, b"owner")
    assert producer.flush(30) == 0


def is_looked_at(acl: Acl) -> bool:
    """Leave out other aggregates: what is allowed on their topics is the same, name by name."""
    others = set(APPLICATION.aggregate_types) - set(TYPES)
    return not any(acl.name.startswith(f"{LEAST.prefix}{other}.") for other in others)


@pytest.mark.proves("S-04")
@pytest.mark.parametrize(
    "role",
    the_first_of(
        KafkaPrincipal.SENDER,
        KafkaPrincipal.SUBSCRIBER,
        KafkaPrincipal.READER,
        KafkaPrincipal.DECIDER,
    ),
)
def test_nothing_is_allowed_that_is_not_needed(
    role: KafkaPrincipal, admin: AdminClient, kafka: Secured, settings: Environment
) -> None:
    disown(kafka.plain)
    assert failures(settings, role) == ""
    needless = []
    for acl in filter(is_looked_at, least_acls(LEAST)):
        if acl.role is role:
            disown(kafka.plain)
            with without(admin, acl):
                said = failures(settings, role)
            assert "None" not in said
            needless += [acl] * (not said)

    assert needless == []
