"""The digest of a command is what its class shows of it, in canonical JSON, however it is made."""

from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal

import pytest
from hypothesis import given
from pydantic import Field, PlainSerializer, computed_field, field_serializer

from tests.decide.plain import digest
from tests.wire.arbitrary import AGGREGATES, commands
from verdict.model.command import Command
from verdict.model.message import Hash, Message
from verdict.write_side.decide.digest import command_digest


class Colour(StrEnum):
    RED = "red"


class Part(Message):
    number: int = 1


class Flat(Command):
    zulu: str
    text: str = "é\u2028\x7f"
    number: int | None = None
    flag: bool | int = True
    side: Literal["BUY", "SELL"] = "BUY"


class Deep(Command):
    part: Part
    parts: list[Part] = [Part()]  # noqa: RUF012  (pydantic copies it)
    colour: Colour | None = None
    more: dict[str, int] | None = None


class Made(Command):
    texts: str = Field(default_factory=lambda: "made")


class Shown(Command):
    number: Annotated[int, PlainSerializer(lambda value: f"no. {value}")]


class ShownByItself(Command):
    number: int

    @field_serializer("number")
    def _shown(self, number: int) -> str:
        return f"no. {number}"


class Computed(Command):
    number: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return 2 * self.number


class Left(Command):
    number: int
    hidden: int = Field(exclude=True, default=3)


class Bytes(Command):
    photo: bytes = b"no photo"
    seal: Hash | None = None
    more: dict[str, bytes] = {}  # noqa: RUF012  (pydantic copies it)


@pytest.mark.parametrize(
    "payload",
    [
        Flat(zulu='a"\\\x00\x1f\n'), Flat(zulu="z", flag=7), Deep(part=Part()),
        Flat(zulu="", text="", number=-(2**70), flag=False, side="SELL"),
        Flat(zulu="ü", number=0, flag=1),
        Deep(part=Part(number=2), parts=[], colour=Colour.RED, more={"b": 1, "a": 2}),
        Made(), Made(texts="x"), Shown(number=3), ShownByItself(number=3), Computed(number=3),
        Left(number=1, hidden=5),
    ],
    ids=repr,
)  # fmt: skip
def test_a_command_of_any_class_has_the_digest_of_what_it_shows(payload: Command) -> None:
    assert command_digest(payload) == digest(payload)


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (
            Flat(zulu="z", number=3, side="SELL"),
            '{"number":3,"side":"SELL","type":"Flat","zulu":"z"}',
        ),
        (
            Deep(part=Part(number=2), parts=[], colour=Colour.RED, more={"b": 1, "a": 2}),
            '{"colour":"red","more":{"a":2,"b":1},"part":{"number":2},"parts":[],"type":"Deep"}',
        ),
        (Bytes(), '{"type":"Bytes"}'),
        (Bytes(photo=b"\xfb\xff"), '{"photo":"+/8=","type":"Bytes"}'),
        (Bytes(more={"a": b"\xff", "b": b""}), '{"more":{"a":"/w==","b":""},"type":"Bytes"}'),
        (Bytes(seal=b"\xfb\xff"), '{"seal":"fbff","type":"Bytes"}'),
    ],
    ids=repr,
)  # fmt: skip
def test_a_digest_stays_for_ever_what_it_is(payload: Command, said: str) -> None:
    assert command_digest(payload) == sha256(said.encode()).digest()


@given(AGGREGATES.flatmap(commands))
def test_any_command_has_the_digest_of_what_it_shows(payload: Command) -> None:
    assert command_digest(payload) == digest(payload)
