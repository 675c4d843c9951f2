"""From flags, environment and files to the settings of a process; errors name the place."""

from collections.abc import Iterable, Iterator, Mapping
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

from verdict.application import NoneHere, current, is_handed_down
from verdict.configuration.settings import TOML, Settings
from verdict.errors import VerdictError
from verdict.local.jars import IVY_SETTINGS
from verdict.model.aggregate import Misdeclared

PREFIX = Settings.model_config["env_prefix"]
ENVIRONMENT = "environment"
NO_SETTINGS = {IVY_SETTINGS}  # read where there are no settings yet


class SettingsInvalid(VerdictError):
    """A setting is unknown or has a value that cannot be."""

    exit_code = 2


def settings_class() -> type[Settings]:
    """Return what can be chosen: of the engine alone, unless the application adds to it.

    Raises:
        NoApplication, Misdeclared: There is one and it cannot be used.
    """
    try:
        found = current().settings or Settings
    except NoneHere:
        return Settings  # who needs one will say that there is none
    if not issubclass(found, Settings):
        raise Misdeclared(f"the settings of {current().name} must be a subclass of Settings")
    return found


def load_settings(**flags: Any) -> Settings:
    """Return the settings that hold here; a flag that is None was not given.

    Raises:
        SettingsInvalid: Names each wrong setting, and what is wrong with it.
    """
    try:
        return settings_class()(**_given(flags))
    except ValidationError as error:
        problems = [_problem(problem, flags) for problem in error.errors(include_input=False)]
        raise SettingsInvalid("; ".join(problems)) from None  # the cause shows values
    except TOMLDecodeError as error:
        raise SettingsInvalid(f"{TOML} is no TOML: {error}") from None
    except SettingsError as error:
        raise SettingsInvalid(f"settings cannot be read: {error}") from None


def settings_alone(**given: Any) -> Settings:
    """Return what is given, and the default of all else, whatever environment and files say.

    Raises:
        ValidationError: A value cannot be.
    """
    kind = settings_class()

    class Alone(kind):  # type: ignore[misc, valid-type]
        model_config = SettingsConfigDict(toml_file=None, env_file=None)

        @classmethod
        def settings_customise_sources(cls, *_: Any, **sources: Any) -> tuple[Any, ...]:
            return (sources["init_settings"],)

    found: Settings = Alone(**given)
    return found


def misnamed(environment: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each variable that looks like a setting of ours and is none."""
    known = {f"{PREFIX}{name.upper()}" for name in settings_class().model_fields} | NO_SETTINGS
    for name in sorted(environment):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = get_close_matches(name.upper(), known, 1)
            hint = f"did you mean {near[0]}?" if near else "see `verdict config show`"
            yield f"the variable {name} is none of ours and has no effect: {hint}"


def origins(**flags: Any) -> dict[str, str]:
    """Return setting → where its value comes from; what is not listed has its default."""
    sources: dict[str, PydanticBaseSettingsSource] = {
        TOML: TomlConfigSettingsSource(settings_class()),
        ".env": DotEnvSettingsSource(settings_class()),
        ENVIRONMENT: EnvSettingsSource(settings_class()),
    }
    found = {
        name: label
        for label, source in sources.items()
        for name in source()
        if not (label == ENVIRONMENT and name == "app" and is_handed_down())
    }
    return found | dict.fromkeys(_given(flags), "flag")


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _problem(problem: Any, flags: Mapping[str, Any]) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        near = get_close_matches(name.removeprefix("verdict_"), settings_class().model_fields, 1)
        hint = f"did you mean {near[0]!r}?" if near else "`verdict config show` lists what there is"
        return f"unknown setting {name!r}{_place(name, flags)}: {hint}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"setting {name!r}{_place(name, flags)}: {message}" if name else message


def _place(name: str, flags: Mapping[str, Any]) -> str:
    place = origins(**flags).get(name.split(".")[0])
    return f" (from {place})" if place else ""
