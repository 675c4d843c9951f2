"""Whether a deployment takes commands and answers them; why not, in words."""

from collections.abc import Iterator

from verdict.page.watch import DECIDER, Look
from verdict.standing.facts import KAFKA


def unready(look: Look) -> Iterator[str]:
    """Yield why commands are not decided just now, or nobody can tell; nothing: they are.

    A read model that is stopped, or the database away, is none: what is sent is decided and kept.
    """
    found, service = look.standing, look.standing.service
    if service is None:
        up = "no decider runs" if found.processes else "no verdict runs"
        start = "verdict run decider" if found.processes else "verdict up"
        yield f"{up} on {found.data_dir}: start `{start}`"
    else:
        every = (*found.problems, *look.still())
        yield from (one for one in every if one.part in (DECIDER, KAFKA))


def colour(look: Look) -> str:
    """Return `red` when no command is decided, `amber` when somebody should look, else `green`."""
    if [*unready(look)]:
        return "red"
    return "amber" if look.complaints else "green"
