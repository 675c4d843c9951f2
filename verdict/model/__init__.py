"""What an application declares: pure values. `verdict` itself has those that all use."""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.model.command_envelope import AggregateId, CommandEnvelope
    from verdict.model.integration import LakeColumn, LakeTable, StateRecord, StateTopic
    from verdict.model.message import LARGEST, iso_time
    from verdict.model.personal import masked
    from verdict.model.source import Source
    from verdict.model.verb import Verb

__all__ = [
    "LARGEST", "AggregateId", "CommandEnvelope", "LakeColumn", "LakeTable", "Source",
    "StateRecord", "StateTopic", "Verb", "iso_time", "masked",
]  # fmt: skip

HOMES = {
    "verdict.model.command_envelope": "AggregateId CommandEnvelope",
    "verdict.model.integration": "LakeColumn LakeTable StateRecord StateTopic",
    "verdict.model.message": "LARGEST iso_time",
    "verdict.model.personal": "masked",
    "verdict.model.source": "Source",
    "verdict.model.verb": "Verb",
}

if not TYPE_CHECKING:  # which reads the imports above
    __getattr__, __dir__ = load_lazily(__name__, HOMES)
