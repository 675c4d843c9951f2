"""What every command type declares: its fields, and the life-cycle states it may start from."""

from typing import ClassVar

from schemas.life_cycle import LifeCycle
from schemas.message import Message

CREATING = frozenset({LifeCycle.NONE})
REOPENING = frozenset({LifeCycle.NONE, LifeCycle.DELETED})
EXISTING = frozenset({LifeCycle.ACTIVE})


class Command(Message):
    """A wish, named imperative + noun; most need an aggregate that is there."""

    starts_from: ClassVar[frozenset[LifeCycle]] = EXISTING
