"""What to say about an operator's decisions; pure."""

from verdict.wire.skip_record import SkipRecord


def quarantine_in_words(decision: SkipRecord) -> str:
    """Return what is damaged of a quarantined aggregate, and who went on without it."""
    of = decision.aggregate
    assert of is not None
    about = f"{of.aggregate_type} {of.aggregate_id!r}"
    return quarantine_text(about, of.version, of.error, decision.operator, decision.reason)


def quarantine_text(about: str, version: int, error: str, operator: str, reason: str) -> str:
    """Return the sentence of a quarantine; `about` names the aggregate by its type and id."""
    return (
        f"{about} is quarantined: its history is damaged from version {version} on ({error}); "
        f"{operator} decided so ({reason})"
    )
