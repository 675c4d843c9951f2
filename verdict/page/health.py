"""Whether a deployment takes commands and answers them; why not, in words."""

from collections.abc import Iterator

from verdict.configuration.found import silent_s
from verdict.page.watch import DECIDER, Look
from verdict.standing.told import SILENT_S


def unready(look: Look) -> Iterator[str]:
    """Yield why commands are not decided just now, or nobody can tell; nothing: they are.

    A read model that is stopped is no reason: what is sent is decided and kept.
    """
    found, service = look.standing, look.standing.service
    if service is None:
        yield f"no verdict runs on {found.data_dir}: start `verdict up`"
        return
    if (silent := silent_s(found.data_dir)) > SILENT_S:
        yield f"the service, pid {service.pid}, has given no sign of life for {silent:.0f} s"
    if found.unreachable:
        yield from found.problems
    for told in (service.stopped, service.overdue):
        if DECIDER in told:
            yield from (one for one in found.problems if f" {DECIDER} " in one)
    yield from (one for one in look.still() if one.startswith(f"{DECIDER}:"))


def colour(look: Look) -> str:
    """Return `red` when no command is decided, `amber` when somebody should look, else `green`."""
    if [*unready(look)]:
        return "red"
    return "amber" if look.complaints else "green"
