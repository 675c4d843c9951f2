"""A verb of the command line, by what is known of it before it is loaded."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as `verdict --help` lists it.

    Args:
        name: As it is typed.
        summary: One line.
        panel: Under which it is listed.
        module: Has a `typer.Typer` named `app`; imported when the verb is called.
        alone: Whether it starts all that it needs, so that it takes no address of a service.
    """

    name: str
    summary: str
    panel: str
    module: str
    alone: bool = False
