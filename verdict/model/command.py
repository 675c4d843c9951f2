"""What every command type declares: its fields, and the life-cycle states it may start from."""

from typing import ClassVar

from verdict.model.life_cycle import LifeCycle
from verdict.model.message import Message

CREATING = frozenset({LifeCycle.NONE})
REOPENING = frozenset({LifeCycle.NONE, LifeCycle.DELETED})
EXISTING = frozenset({LifeCycle.ACTIVE})


class Command(Message):
    """A wish, named imperative + noun; most need an aggregate that is there."""

    starts_from: ClassVar[frozenset[LifeCycle]] = EXISTING
