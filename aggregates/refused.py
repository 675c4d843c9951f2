"""A rule's answer to a command that breaks it."""

from schemas.message import LARGEST
from schemas.response import Details


class Refused(Exception):  # an answer, not an error
    """A command breaks a rule of its aggregate.

    Args:
        code: The rule, for machines, for example `OVERFILL`.
        message: The rule and its numbers, for the sender: lower case, no full stop.
        numbers: What the message says, for machines.
    """

    def __init__(self, code: str, message: str, **numbers: int | str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.numbers = numbers

    @property
    def details(self) -> Details:
        """The code and the numbers, as they fit a response; anything else becomes its text."""
        numbers = {name: self._fitting(value) for name, value in self.numbers.items()}
        return {"code": self.code, **numbers}

    @staticmethod
    def _fitting(value: object) -> int | str:
        return value if isinstance(value, int) and abs(value) <= LARGEST else str(value)
