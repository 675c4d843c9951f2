import os
import signal
import sqlite3
from collections.abc import Iterator

import pytest

from compose.demo.stopping import SIGNALS, Interruption


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Put the handlers back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "ends"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_interrupts(number: signal.Signals, ends: type[BaseException]) -> None:
    with pytest.raises(ends) as exits, Interruption():
        os.kill(os.getpid(), number)

    assert getattr(exits.value, "code", 143) == 143


def test_it_is_not_lost_in_a_callback_from_c() -> None:
    def authorize(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return sqlite3.SQLITE_OK

    connection = sqlite3.connect(":memory:")
    with pytest.raises(SystemExit), Interruption():  # noqa: PT012
        connection.set_authorizer(authorize)
        connection.execute("SELECT 1")  # raises, but sqlite3's own error
    connection.close()


def test_a_second_one_does_not_interrupt_the_cleaning_up() -> None:
    cleaned = False
    with pytest.raises(KeyboardInterrupt), Interruption():  # noqa: PT012
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned = True

    assert cleaned
