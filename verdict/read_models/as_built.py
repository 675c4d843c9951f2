"""What a projection's live version was built with, whatever is set where a verb is typed."""

from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.projection.declared import read_models
from verdict.reading.reader import Reader, reader_of

BUILT = """\
SELECT b.projection, b.version, b.settings FROM projection_built b JOIN projection_live l
ON l.projection = b.projection AND l.version = b.version"""


def live_versions(reader: Reader) -> dict[str, tuple[int, str]]:
    """Return version and settings of what readers see, by projection."""
    return {name: (int(number), built) for name, number, built in reader.select(BUILT).rows}


def as_built(settings: Settings, name: str) -> Settings:
    """Return the settings, with those that the live version of a projection was built with.

    Without a read side that can tell, what is set counts, as it does before the first start.
    """
    try:
        with reader_of(settings) as reader:
            _, built = live_versions(reader).get(name, (0, ""))
    except VerdictError:  # away, of an older version, or not for this user
        return settings
    return with_built(settings, name, built)


def with_built(settings: Settings, name: str, built: str) -> Settings:
    """Return the settings with what a projection says that it was built with."""
    chosen = read_models()[name].built_with(built) if name in read_models() else {}
    return settings.model_copy(update=dict(chosen)) if chosen else settings
