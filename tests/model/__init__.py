"""An independent model of the write side, written from the contract alone.

It knows nothing of `aggregates`: plain dictionaries, one function per rule, one loop. Its only
borrowed part is the decoding of Avro. `fold` says what must have become of a commands log, and
`tests.comparison` holds that against what is on the output topics.
"""

from tests.model.fold import Aggregate, Event, Expected, Identity, Model, Outcome, Place, fold
from tests.model.reading import Record

__all__ = [
    "Aggregate",
    "Event",
    "Expected",
    "Identity",
    "Model",
    "Outcome",
    "Place",
    "Record",
    "fold",
]
