"""Chapter: what else the same events tell: tallies, the newest orders, a feed."""

from commands.enrolment import DeactivateParticipant, EnrolParticipant, MoveParticipant, RecordLogin
from compose.demo.story import Story
from verdict import Command, Expectation
from verdict.model import iso_time

TALLY = """
    SELECT program, number_active, number_inactive, last_login
    FROM program_tally ORDER BY program"""
ORDERS = """
    SELECT client, rank, order_id, quantity, filled_quantity, status
    FROM client_recent_order WHERE client = 'ada' ORDER BY rank LIMIT 5"""
FEED = """
    SELECT seq, client, kind, position_id, at
    FROM us_holder_change ORDER BY seq DESC LIMIT 5"""

NINE = 1_795_251_600_000  # 2026-11-21T09:00:00Z
HOUR = 3_600_000
CHESS = EnrolParticipant(program="chess")

LIVES: dict[str, tuple[Command, ...]] = {
    "ada": (CHESS, RecordLogin(at=NINE + 2 * HOUR)),
    "bob": (CHESS, RecordLogin(at=NINE), DeactivateParticipant(), DeactivateParticipant()),
    "cleo": (CHESS, RecordLogin(at=NINE + 3 * HOUR), MoveParticipant(program="go")),
    "dora": (EnrolParticipant(program="go"), RecordLogin(at=NINE + HOUR)),
}
TALLIES = [
    ("chess", 1, 1, iso_time(NINE + 2 * HOUR)),  # cleo took her later login with her
    ("go", 2, 0, iso_time(NINE + 3 * HOUR)),
]


def tell(story: Story) -> None:
    """Enrol a few participants, let them live, and ask the views."""
    story.voice.begin(
        "What else do the events tell?",
        "Another aggregate, another table: bob is deactivated twice and counts once, and cleo "
        "takes her login with her to another program. Then the newest 30 orders of a client, and "
        "a numbered feed of who became a holder of US stock and who ceased to be one.",
    )
    for name, commands in LIVES.items():
        for command in commands:
            story.clients[0].send(name, command, expected_version=Expectation.ANY)
    story.clients[0].flush()
    story.settle()
    story.voice.expect("the tallies are what was sent", TALLIES, story.ask(TALLY))
    story.ask(ORDERS)
    story.ask(FEED)
