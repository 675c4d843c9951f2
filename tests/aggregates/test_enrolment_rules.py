import pytest

from commands.enrolment import (
    ActivateParticipant,
    DeactivateParticipant,
    EnrolParticipant,
    MoveParticipant,
    RecordLogin,
)
from schemas.enrolment import (
    LoginRecorded,
    ParticipantActivated,
    ParticipantDeactivated,
    ParticipantEnrolled,
    ParticipantMoved,
)
from tests.application import APPLICATION
from verdict.model.command import LifeCycle
from verdict.testing import given

an_active_one = given(APPLICATION, ParticipantEnrolled(program="chess"))
an_inactive_one = an_active_one.given(ParticipantDeactivated())


def test_an_enrolled_participant_is_active() -> None:
    (
        given(APPLICATION)
        .when(EnrolParticipant(program="chess"))
        .then(ParticipantEnrolled(program="chess"))
        .then_state(program="chess", active=True)
    )


def test_enrolling_starts_once_and_all_else_where_there_is_an_enrolment() -> None:
    assert EnrolParticipant.starts_from == {LifeCycle.NONE}
    for command in (ActivateParticipant, DeactivateParticipant, RecordLogin, MoveParticipant):
        assert command.starts_from == {LifeCycle.ACTIVE}


def test_deactivating_and_activating_change_the_status_and_nothing_else() -> None:
    (
        an_active_one.when(DeactivateParticipant())
        .then(ParticipantDeactivated())
        .then_state(program="chess", active=False)
    )
    (
        an_inactive_one.when(ActivateParticipant())
        .then(ParticipantActivated())
        .then_state(program="chess", active=True)
    )


@pytest.mark.proves("T-01")
def test_the_same_status_again_changes_nothing() -> None:
    an_active_one.when(ActivateParticipant()).then()
    an_inactive_one.when(DeactivateParticipant()).then()


def test_every_login_is_recorded_whatever_the_status_and_the_logins_before() -> None:
    later, earlier = RecordLogin(at=2000), RecordLogin(at=1000)

    logged_in = an_active_one.when(later).then(LoginRecorded(at=2000))
    logged_in.when(earlier).then(LoginRecorded(at=1000)).then_state(program="chess", active=True)
    logged_in.when(later).then(LoginRecorded(at=2000))
    an_inactive_one.when(earlier).then(LoginRecorded(at=1000)).then_state(active=False)


def test_moving_changes_the_program_and_nothing_else() -> None:
    (
        an_inactive_one.when(MoveParticipant(program="go"))
        .then(ParticipantMoved(program="go"))
        .then_state(program="go", active=False)
    )


def test_moving_to_the_same_program_changes_nothing() -> None:
    an_active_one.when(MoveParticipant(program="chess")).then()
    moved = an_active_one.given(ParticipantMoved(program="go"))
    moved.when(MoveParticipant(program="go")).then()
    moved.when(MoveParticipant(program="chess")).then(ParticipantMoved(program="chess"))
