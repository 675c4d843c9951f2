"""What an application declares: pure values. `verdict` itself has those that all use."""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.model.application import Verb
    from verdict.model.command_envelope import AggregateId, CommandEnvelope
    from verdict.model.integration import LakeColumn, LakeTable, StateRecord, StateTopic
    from verdict.model.message import LARGEST, iso_time
    from verdict.model.personal import masked
    from verdict.model.source import Source

__all__ = [
    "LARGEST", "AggregateId", "CommandEnvelope", "LakeColumn", "LakeTable", "Source",
    "StateRecord", "StateTopic", "Verb", "iso_time", "masked",
]  # fmt: skip

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
