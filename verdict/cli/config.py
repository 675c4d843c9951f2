"""`verdict config show`: every setting, its value, and the source of that."""

import typer

from verdict.cli.application import given, load_if_named
from verdict.cli.options import Json, settings_of
from verdict.cli.render import show, show_json, table
from verdict.settings.database_address import masked_url, parse
from verdict.settings.load import origins
from verdict.settings.settings import Settings

app = typer.Typer(add_completion=False)


@app.callback()
def config() -> None:
    """Show the settings and where each comes from."""


@app.command("show")
def show_config(json: Json = False) -> None:
    """Show every setting with its value and its source; secrets are masked.

    Write a setting as `name = …` in verdict.toml, or as VERDICT_NAME in .env or the environment.
    The environment overrides the files, and a flag overrides both.
    """
    shown = _settings(settings_of())
    if json:
        show_json(shown)
        return
    rows = ((name, _text(entry["value"]), entry["from"]) for name, entry in shown.items())
    show(table(("setting", "value", "from"), rows))


def _settings(settings: Settings) -> dict[str, dict[str, object]]:
    places = origins(load_if_named(), **given())
    values = settings.model_dump(mode="json")  # with masked secrets
    if settings.database_url is not None:
        values["database_url"] = masked_url(parse(settings.database_url.get_secret_value()))
    return {
        name: {
            "value": values[name],
            "from": places.get(name, "default"),
            "meaning": field.description,
        }
        for name, field in type(settings).model_fields.items()
    }


def _text(value: object) -> object:
    return ", ".join(value) if isinstance(value, list) else value
