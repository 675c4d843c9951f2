"""A verb of the command line, before its module is loaded."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as `verdict --help` lists it.

    Args:
        name: The word on the command line.
        summary: One line.
        panel: The group in the list.
        module: A module with a `typer.Typer` named `app`; the call of the verb imports it.
        alone: Whether it needs no running service, so it takes no address of one.
    """

    name: str
    summary: str
    panel: str
    module: str
    alone: bool = False
