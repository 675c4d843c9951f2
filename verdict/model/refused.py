"""A rule's answer to a command that breaks it."""


class Refused(Exception):  # noqa: N818  # authors raise it in rules: an answer, not an error
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
