"""The work on read models itself, which loads Spark: in a process of its own."""

from collections.abc import Callable

from verdict.configuration.settings import Settings
from verdict.page.jobs import Action
from verdict.read_models.versions import told
from verdict.read_models.versions.rebuilder import Rebuilder


def done(
    settings: Settings,
    name: str,
    action: Action,
    accept_differences: bool,
    tell: Callable[[str], None],
) -> tuple[str, bool]:
    """Do it; return what came of it, and whether it is what one would wish.

    Raises:
        VerdictError: It could not be done.
    """
    rebuilder = Rebuilder(settings, name, tell)
    match action:
        case Action.REBUILD:
            return told.built(rebuilder.rebuild()), True
        case Action.VERIFY:
            verified = rebuilder.verify()
            return told.compared(verified), verified.equal
        case Action.SWAP:
            return told.put_in_place(rebuilder.swap(accept_differences)), True
        case Action.ROLLBACK:
            return told.put_in_place(rebuilder.rollback(), "again"), True
