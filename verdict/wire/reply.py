"""Answers for their sender alone: by a header of the command, and copies of responses.

A sender names itself in the header `reply_to` of a command's record, by 1 to 128 bytes that nobody
else uses. Then the response lies on the topic of replies too, with the same bytes and no headers,
keyed by that name, which also says in which partition; the record on the topic of responses is the
one that stays.
"""

REPLY_TO = "reply_to"
REPLY_TO_BYTES = 128


def reply_name(header: bytes | None) -> bytes | None:
    """Return the name that a header gives; None: it gives none that may be one."""
    return header if header and len(header) <= REPLY_TO_BYTES else None
