"""A service that several tests share, one after the other, whatever they do to it."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.e2e.deployment import await_ready, stop


class Kept:
    """A service that runs whenever a test asks for it, however the test before has ended it.

    Args:
        start: Starts it; it is not ready yet.
        said: Returns what it has said on stderr since then.
    """

    def __init__(
        self, start: "Callable[[], subprocess.Popen[str]]", said: Callable[[], str]
    ) -> None:
        self._start = start
        self._said = said
        self._service: subprocess.Popen[str] | None = None

    def running(self) -> "subprocess.Popen[str]":
        """Return the service, which is ready: started again if it has ended."""
        if self._service is None or self._service.poll() is not None:
            self._forget()
            self._service = self._start()
            try:
                await_ready(self._service)
            except AssertionError as error:
                error.add_note(self._said())
                raise
        return self._service

    def end(self) -> None:
        """Stop it cleanly, if it runs."""
        if self._service is not None and self._service.poll() is None:
            stop(self._service)
        self._forget()

    def kill(self) -> None:
        """Kill it, if it runs."""
        if self._service is not None:
            self._service.kill()
        self._forget()

    def _forget(self) -> None:
        if self._service is not None:
            self._service.communicate()
        self._service = None


@contextmanager
def kept(start: "Callable[[], subprocess.Popen[str]]", said: Callable[[], str]) -> Iterator[Kept]:
    """Give a service that runs when it is asked for, and stop it at the end."""
    service = Kept(start, said)
    try:
        yield service
        service.end()
    finally:
        service.kill()
