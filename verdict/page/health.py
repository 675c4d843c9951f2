"""Whether a deployment takes commands and answers them; why not, in words."""

from collections.abc import Iterator

from verdict.page.watch import DECIDER, Look


def unready(look: Look) -> Iterator[str]:
    """Yield why commands are not decided just now, or nobody can tell; nothing: they are.

    A read model that is stopped is no reason: what is sent is decided and kept.
    """
    found, service = look.standing, look.standing.service
    if service is None:
        up = "no decider runs" if found.processes else "no verdict runs"
        start = "verdict run decider" if found.processes else "verdict up"
        yield f"{up} on {found.data_dir}: start `{start}`"
    elif found.unreachable:
        yield from found.problems
    else:
        signs = f" {DECIDER} ", f"pid {service.pid}, has given no sign of life"
        yield from (one for one in found.problems if any(sign in one for sign in signs))
        yield from (one for one in look.still() if one.startswith(f"{DECIDER}:"))


def colour(look: Look) -> str:
    """Return `red` when no command is decided, `amber` when somebody should look, else `green`."""
    if [*unready(look)]:
        return "red"
    return "amber" if look.complaints else "green"
