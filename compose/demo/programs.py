"""Chapter: participants of programs, counted while they come, go and move."""

from commands.enrolment import (
    DeactivateParticipant,
    EnrolParticipant,
    MoveParticipant,
    RecordLogin,
)
from compose.demo.settling import settle
from compose.demo.story import Story
from verdict import Command, Expectation, iso_time

QUERY = """\
SELECT program, number_active, number_inactive, last_login
FROM program_tally ORDER BY program"""

NINE = 1_795_251_600_000  # 2026-11-21T09:00:00Z
HOUR = 3_600_000

LIVES: dict[str, tuple[Command, ...]] = {
    "ada": (EnrolParticipant(program="chess"), RecordLogin(at=NINE + 2 * HOUR)),
    "bob": (
        EnrolParticipant(program="chess"),
        RecordLogin(at=NINE),
        DeactivateParticipant(),
        DeactivateParticipant(),
    ),
    "cleo": (
        EnrolParticipant(program="chess"),
        RecordLogin(at=NINE + 3 * HOUR),
        MoveParticipant(program="go"),
    ),
    "dora": (EnrolParticipant(program="go"), RecordLogin(at=NINE + HOUR)),
}
TALLIES = [
    ("chess", 1, 1, iso_time(NINE + 2 * HOUR)),  # cleo took her later login with her
    ("go", 2, 0, iso_time(NINE + 3 * HOUR)),
]


def tell(story: Story) -> None:
    """Enrol a few participants, let them live, and ask the view."""
    story.voice.begin(
        "How many take part, and when was the last login?",
        "Another aggregate, another table from its events. To deactivate bob twice is accepted "
        "and counts once; cleo moves to another program and takes her login with her.",
    )
    sent = [
        story.clients[0].send(name, command, expected_version=Expectation.ANY)
        for name, commands in LIVES.items()
        for command in commands
    ]
    for pending in sent:
        story.outcome(pending)
    settle(story)
    for line in QUERY.splitlines():
        story.voice.say(line)
    answer = story.select(QUERY)
    found = list(answer.rows)
    story.voice.say("")
    story.voice.show(answer.columns, found, numbers=("number_active", "number_inactive"))
    story.voice.expect("the tallies are what was sent", TALLIES, found)
