from typing import Any

import pytest

from commands.enrolment import (
    ActivateParticipant,
    DeactivateParticipant,
    EnrolParticipant,
    MoveParticipant,
    RecordLogin,
)
from schemas.enrolment import (
    EnrolmentEvent,
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
from tests.application import APPLICATION
from verdict.model.command import Command, LifeCycle
from verdict.testing import Given, given

ENROLLED = ParticipantEnrolled(program="chess")
an_active_one = given(APPLICATION, ENROLLED)
an_inactive_one = an_active_one.given(ParticipantDeactivated())


def test_an_enrolled_participant_is_active() -> None:
    enrolled = given(APPLICATION).when(EnrolParticipant(program="chess")).then(ENROLLED)
    enrolled.then_state(program="chess", active=True)


def test_enrolling_starts_once_and_all_else_where_there_is_an_enrolment() -> None:
    assert EnrolParticipant.starts_from == {LifeCycle.NONE}
    for command in (ActivateParticipant, DeactivateParticipant, RecordLogin, MoveParticipant):
        assert command.starts_from == {LifeCycle.ACTIVE}


@pytest.mark.proves("T-01")
@pytest.mark.parametrize(
    ("before", "command", "event", "state"),
    [
        (an_active_one, DeactivateParticipant(), ParticipantDeactivated(), {"active": False}),
        (an_inactive_one, ActivateParticipant(), ParticipantActivated(), {"active": True}),
        (an_inactive_one, MoveParticipant(program="go"), ParticipantMoved(program="go"),
         {"program": "go"}),
    ],
)  # fmt: skip
def test_a_command_changes_its_value_and_the_same_again_nothing(
    before: Given, command: Command, event: EnrolmentEvent, state: dict[str, Any]
) -> None:
    known = {"program": "chess", "active": before is an_active_one}

    before.when(command).then(event).then_state(**{**known, **state}).when(command).then()


def test_every_login_is_recorded_whatever_the_status_and_the_logins_before() -> None:
    later, earlier = RecordLogin(at=2000), RecordLogin(at=1000)

    logged_in = an_active_one.when(later).then(LoginRecorded(at=2000))
    logged_in.when(earlier).then(LoginRecorded(at=1000)).then_state(program="chess", active=True)
    logged_in.when(later).then(LoginRecorded(at=2000))
    an_inactive_one.when(earlier).then(LoginRecorded(at=1000)).then_state(active=False)
