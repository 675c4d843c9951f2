"""Rejected commands of policies: how many there are, and which of them need attention.

A rejection needs attention for 24 hours, unless the policy expects it, or the same command was
accepted later (after the retry of a dead letter, for example).
"""

from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.time_text import wall_clock
from verdict.model.message import iso_time
from verdict.model.reason import Reason
from verdict.operations.status.status import PolicyRejections

ATTENTION_MS = 24 * 60 * 60 * 1000
# with these a command id is not remembered, so that the same command can be accepted later
CURABLE = Reason.INVALID_COMMAND, Reason.UNKNOWN_TYPE, Reason.QUARANTINED, Reason.HANDLER_ERROR
IS_CURABLE = f"rejection.reason IN {tuple(map(str, CURABLE))}"
IS_UNEXPECTED = "NOT rejection.expected AND rejection.decided_at > :since"
IS_ACCEPTED = """\
EXISTS (
  SELECT 1 FROM outcome WHERE outcome.command_id = rejection.command_id
  AND outcome.aggregate_type = rejection.aggregate_type
  AND outcome.aggregate_id = rejection.aggregate_id AND outcome.status = 'ACCEPTED'
)"""
NEEDS_ATTENTION = f"{IS_UNEXPECTED} AND NOT ({IS_CURABLE} AND {IS_ACCEPTED})"
COUNTED = f"""\
SELECT policy, reason, rule_code, count(*), count(CASE WHEN {IS_UNEXPECTED} THEN 1 END)
FROM policy_rejection AS rejection GROUP BY reason, policy, rule_code ORDER BY 1, 2, 3"""
CURED = f"""\
SELECT policy, reason, count(*) FROM policy_rejection AS rejection
WHERE {IS_CURABLE} AND {IS_UNEXPECTED} AND {IS_ACCEPTED} GROUP BY 1, 2"""
# an event is found by its flow, which is that of the command: `event_id` has no index
LISTED = f"""\
SELECT listed.*, cause.event_type, cause.aggregate_type AS cause_type,
cause.aggregate_id AS cause_id, cause.version AS cause_version
FROM (
  SELECT rejection.*, (
    SELECT max(correlation_id) FROM outcome WHERE outcome.command_id = rejection.command_id
  ) AS correlation_id
  FROM policy_rejection AS rejection WHERE {NEEDS_ATTENTION}
  ORDER BY rejection.decided_at DESC, rejection.command_id LIMIT :most OFFSET :offset
) AS listed
LEFT JOIN event_archive AS cause
ON cause.correlation_id = listed.correlation_id AND cause.event_id = listed.event_id
ORDER BY listed.decided_at DESC, listed.command_id"""
# `coalesce` keeps the index by reason out of it: by time, the first row is found at once
NEWEST = f"""\
SELECT command_id FROM policy_rejection AS rejection WHERE {NEEDS_ATTENTION}
AND coalesce(policy, '') = :policy AND coalesce(reason, '') = :reason
AND coalesce(rule_code, '') = :rule_code ORDER BY decided_at DESC LIMIT 1"""


def since() -> str:
    """Return the time from which on a rejection needs attention."""
    return iso_time(wall_clock() - ATTENTION_MS)


def policy_rejections(reader: Reader) -> tuple[PolicyRejections, ...]:
    """Count the rejected commands of policies."""
    young = {"since": since()}
    counted = [*reader.select(COUNTED, young).rows]
    can_be_cured = any(row[1] in CURABLE and row[-1] for row in counted)
    rows = reader.select(CURED, young).rows if can_be_cured else ()
    cured = {(policy, reason): times for policy, reason, times in rows}
    found = list[PolicyRejections]()
    for policy, reason, code, rejected, unexpected in counted:
        # none of these reasons has a rule; a retry may succeed between the two queries
        left = max(0, unexpected - cured.get((policy, reason), 0))
        of = {"policy": policy, "reason": reason, "rule_code": code or ""}
        newest = reader.select(NEWEST, young | of).rows if left else ()
        command_id = next((command_id for (command_id,) in newest), None)
        found.append(PolicyRejections(policy, reason, code, rejected, left, command_id))
    return (*found,)
