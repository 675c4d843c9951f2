"""Read models by version, and a form: built again, compared, put in place and taken back."""

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from verdict.configuration.settings import Settings
from verdict.page.forms import Undecided, filled_in
from verdict.page.jobs import Action, Jobs
from verdict.page.pages import Pages
from verdict.page.watch import Watch
from verdict.projection.declared import FIRST, declared

HERE = "/read-models"


def add_read_models(
    page: FastAPI, settings: Settings, watch: Watch, pages: Pages, jobs: Jobs
) -> None:
    """Let people see the versions, and those with the token work on them."""
    every = declared(settings.application, settings.chosen).items()
    buildable = [name for name, at in every if at(FIRST).tables]

    def picture() -> dict[str, Any]:
        standing = watch.look().standing
        return {"versions": standing.projections or (), "jobs": jobs.newest}

    def read_models(request: Request) -> Response:
        told = {"buildable": buildable}
        return pages.shown(request, "read_models", picture() | told)

    def live(request: Request) -> Response:
        return pages.shown(request, "versions", picture())

    async def begin(request: Request) -> Response:
        form = await filled_in(request, settings)
        name, action = form.get("name", ""), form.get("action", "")
        if name not in buildable or action not in [*Action]:
            raise Undecided(f"nothing was done: {action!r} of {name!r} is not something to be done")
        jobs.begin(name, Action(action), "accept_differences" in form)
        return RedirectResponse(HERE, 303)

    page.add_api_route(HERE, read_models, include_in_schema=False)
    page.add_api_route(f"{HERE}/live", live, include_in_schema=False)
    page.add_api_route(HERE, begin, methods=["POST"], include_in_schema=False)
