"""Loads the settings of a process from flags, environment and files."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from tomllib import TOMLDecodeError
from typing import Any

from pydantic import ValidationError
from pydantic_settings import (
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from verdict.errors import VerdictError
from verdict.model.aggregate import InvalidApplicationError
from verdict.model.application import Application
from verdict.model.message import Fields
from verdict.settings import IVY_SETTINGS
from verdict.settings.settings import TOML, Settings
from verdict.wire.backoff import InvalidBackoffError, back_off

PREFIX = Settings.model_config["env_prefix"]
ENVIRONMENT = "environment"
NO_SETTINGS = {IVY_SETTINGS}  # read where there are no settings yet


class InvalidSettingsError(VerdictError):
    """A setting is unknown or has a value that cannot be."""

    exit_code = 2


def settings_class(application: Application | None) -> type[Settings]:
    """Return the class of the settings, which an application may extend."""
    if application is None or application.settings is None:
        return Settings
    if not issubclass(application.settings, Settings):
        raise InvalidApplicationError(
            f"the settings of {application.name} must be a subclass of Settings"
        )
    return application.settings


def load_settings(application: Application | None, /, **flags: Any) -> Settings:
    """Return the settings of this process.

    Args:
        application: Whose; None: only what needs an application fails.
        **flags: Settings by name, which win over all other sources; None: not given.

    Raises:
        InvalidSettingsError: Names each wrong setting, and what is wrong with it.
    """
    try:
        with _readable_sources():
            return _of(application, settings_class(application)(**_given(flags)))
    except InvalidBackoffError as error:
        place = _place(application, "retry_backoff", flags)
        raise InvalidSettingsError(f"setting 'retry_backoff'{place}: {error}") from None
    except ValidationError as error:
        problems = [
            _problem(application, problem, flags) for problem in error.errors(include_input=False)
        ]
        raise InvalidSettingsError("; ".join(problems)) from None  # the cause shows values


def named_application() -> str | None:
    """Return the application that environment or files name, as `MODULE:NAME`."""
    with _readable_sources():
        named = [source().get("app") for source in _sources(Settings).values()]
    return next((str(one) for one in reversed(named) if one), None)


@contextmanager
def _readable_sources() -> Iterator[None]:
    try:
        yield
    except TOMLDecodeError as error:
        raise InvalidSettingsError(f"{TOML} is no TOML: {error}") from None
    except SettingsError as error:
        raise InvalidSettingsError(f"settings cannot be read: {error}") from None


def settings_alone(application: Application | None, /, **given: Any) -> Settings:
    """Return the given settings, and defaults for all others, without environment and files."""
    kind = settings_class(application)

    class Alone(kind):  # type: ignore[misc, valid-type]
        model_config = SettingsConfigDict(toml_file=None, env_file=None)

        @classmethod
        def settings_customise_sources(cls, *_: Any, **sources: Any) -> tuple[Any, ...]:
            return (sources["init_settings"],)

    return _of(application, Alone(**given))


def _of(application: Application | None, settings: Settings) -> Settings:
    back_off({} if application is None else application.backoffs, settings.retry_backoff)
    settings._application = application
    return settings


def unknown_variables(application: Application | None, environment: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each variable with our prefix that is no setting."""
    fields = settings_class(application).model_fields
    known = {f"{PREFIX}{name.upper()}" for name in fields} | NO_SETTINGS
    for name in sorted(environment):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            hint = _suggestion(name.upper(), known)
            yield f"the variable {name} is none of ours and has no effect: {hint}"


def origins(application: Application | None, /, **flags: Any) -> dict[str, str]:
    """Return setting → where its value comes from; all others have their default."""
    sources = _sources(settings_class(application))
    found = {name: label for label, source in sources.items() for name in source()}
    return found | dict.fromkeys(_given(flags), "flag")


def _sources(kind: type[Settings]) -> dict[str, PydanticBaseSettingsSource]:
    """Return the sources by name, the weakest first."""
    return {
        TOML: TomlConfigSettingsSource(kind),
        ".env": DotEnvSettingsSource(kind),
        ENVIRONMENT: EnvSettingsSource(kind),
    }


def _given(flags: Mapping[str, Any]) -> Fields:
    return {name: value for name, value in flags.items() if value is not None}


def _problem(application: Application | None, problem: Any, flags: Mapping[str, Any]) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    place = _place(application, name, flags)
    if problem["type"] == "extra_forbidden":
        known = settings_class(application).model_fields
        hint = _suggestion(name.removeprefix("verdict_"), known)
        return f"unknown setting {name!r}{place}: {hint}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"setting {name!r}{place}: {message}" if name else message


def _suggestion(name: str, known: Iterable[str]) -> str:
    if near := get_close_matches(name, [*known], 1):
        return f"did you mean {near[0]!r}?"
    return "`verdict config show` lists what there is"


def _place(application: Application | None, name: str, flags: Mapping[str, Any]) -> str:
    place = origins(application, **flags).get(name.split(".")[0])
    return f" (from {place})" if place else ""
