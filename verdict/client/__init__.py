"""What clients of the topics need besides `verdict.Client`."""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.client.pending import Pending
    from verdict.wire.dead_letter_record import DeadLetterRecord
    from verdict.wire.response import Status
    from verdict.wire.topics import Topics

__all__ = ["DeadLetterRecord", "Pending", "Status", "Topics"]

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
