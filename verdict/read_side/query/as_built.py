"""What a projection's live version was built with, whatever is set where a verb is typed."""

from verdict.adapters.sql.readers.reader import open_reader
from verdict.errors import UnreachableError
from verdict.model.projection import settings_of
from verdict.read_side.catalog import declared_projections
from verdict.settings.settings import Settings

BUILT = """\
SELECT settings FROM projection_version JOIN projection_live USING (projection, version)
WHERE projection = ?"""


def live_settings(settings: Settings, name: str) -> Settings:
    """Return the settings, with those that the live version of a projection was built with.

    Without a read side what is set counts, as it does before the first start.

    Raises:
        VerdictError: There is one that does not tell; what is set may not be what it shows.
    """
    try:
        with open_reader(settings) as reader:
            built = [*reader.select(BUILT, [name]).rows]
    except UnreachableError:
        return settings
    return with_live_settings(settings, name, *built[0]) if built else settings


def with_live_settings(settings: Settings, name: str, built: str) -> Settings:
    """Return the settings with what a projection says that it was built with."""
    known = declared_projections(settings.application)
    chosen = settings_of(built, known[name].settings) if name in known else {}
    return settings.model_copy(update=dict(chosen)) if chosen else settings
