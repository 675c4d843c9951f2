"""The catalogue of errors says what the code does: every name, code and status."""

import pytest

from docs.errors import Fault, catalogue, faults
from verdict import errors
from verdict.errors import SendFailedError, VerdictError
from verdict.http.application import FAILED
from verdict.model.reason import Reason


@pytest.fixture(scope="module")
def found() -> dict[str, Fault]:
    """Return what is told of verdict's own errors, by their names."""
    return {fault.name: fault for fault in faults(VerdictError.__name__)}


def kinds(of: type[VerdictError]) -> set[type[VerdictError]]:
    ours = {one for one in of.__subclasses__() if one.__module__.startswith("verdict.")}
    return {of}.union(*map(kinds, ours))


def test_every_error_of_python_is_listed_with_its_code_and_status(
    found: dict[str, Fault],
) -> None:
    assert len(found) > 50
    for kind in kinds(VerdictError):
        told = found[kind.__name__]
        status = next((code for one, code in FAILED.items() if issubclass(kind, one)), None)
        assert (told.exit_code or VerdictError.exit_code) == kind.exit_code, kind
        assert told.status == status, kind


def test_every_public_error_of_a_client_is_listed() -> None:
    sent = {fault.name for fault in faults("SendFailedError")}
    raised = {name for name in errors.__all__ if issubclass(getattr(errors, name), SendFailedError)}

    assert raised == sent


def test_each_entry_says_what_it_means(found: dict[str, Fault]) -> None:
    text = "\n".join(catalogue())

    assert [name for name, fault in found.items() if not fault.means] == []
    assert [reason for reason in Reason if f"### {reason}\n" not in text] == []


def test_the_words_of_an_error_lead_to_the_operators_manual() -> None:
    entries = dict(one.split("\n", 1) for one in "\n".join(catalogue()).split("\n### ")[1:])

    where = "operating.md#it-does-not-start-or-has-ended"
    assert f"[`… was fenced by owner …`](../{where})" in entries["FencedError"]
    assert sum("(../operating.md#" in entry for entry in entries.values()) > 10
