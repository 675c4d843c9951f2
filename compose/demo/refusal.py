"""Chapter: why one command was refused, and who was faster."""

from compose.demo.story import Story
from verdict import Reason

REFUSED = """\
SELECT min(command_id) FROM outcome
WHERE command_id LIKE '_-race-%' AND reason = 'VERSION_CONFLICT'"""

WHY = """\
SELECT lost.command_id, lost.command_type, lost.reason, lost.message,
       won.command_id AS won_by
FROM outcome lost LEFT JOIN outcome won
  ON won.aggregate_type = lost.aggregate_type
  AND won.aggregate_id = lost.aggregate_id
  AND won.from_version = lost.expected_version AND won.status = 'ACCEPTED'
WHERE lost.command_id = '{command_id}'"""


def tell(story: Story) -> None:
    """Ask SQL about one command that lost its race."""
    story.voice.begin(
        "Why was this refused?",
        "Every verdict is a row, the refused ones too. A command id from somebody's log is enough "
        "to say why it was refused, and which command got in before it.",
    )
    [(command_id,)] = story.select(REFUSED).rows
    query = WHY.format(command_id=command_id)
    for line in query.splitlines():
        story.voice.say(line)
    story.voice.say("")
    answer = story.select(query)
    rows = list(answer.rows)
    for row in rows:
        story.voice.show(("column", "value"), zip(answer.columns, row, strict=True))
    won_by = rival(str(command_id))
    found = [(row[0], row[2], row[4]) for row in rows]
    story.voice.expect(
        f"{command_id} lost to {won_by}, and to nobody else",
        [(command_id, Reason.VERSION_CONFLICT, won_by)],
        found,
    )


def rival(command_id: str) -> str:
    """Return the id of the command that raced against this one: the other producer's."""
    producer, race = command_id[0], command_id[1:]
    return ("B" if producer == "A" else "A") + race
