"""`verdict mail`: the weekly mail, recorded and sent."""

import json as json_module
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from projections.outbound.weekly_mail.settings import MailSettings
from projections.outbound.weekly_mail.week import Week, last_week, parse_week
from projections.outbound.weekly_mail.worker import Report, run, wall_clock
from verdict.cli import settings_of
from verdict.model import iso_time

app = typer.Typer(add_completion=False)

LAST = "last"


def _week(text: str) -> Week:
    try:
        return last_week(wall_clock()) if text == LAST else parse_week(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@app.command()
def mail(  # noqa: PLR0913  (options)
    week: Annotated[
        Week,
        typer.Option(
            parser=_week, metavar="WEEK", help="Such as 2026-W47; last: the last that is over."
        ),
    ],
    worker: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Names this worker in the view `outbox`.",
            show_default="its process",
        ),
    ] = None,
    smtp_url: Annotated[
        str | None,
        typer.Option(
            metavar="smtp://HOST:PORT",
            help="Mail server; smtp+starttls:// or smtps:// with TLS.",
            show_default="none: mails are recorded only",
        ),
    ] = None,
    sender: Annotated[
        str | None, typer.Option("--from", metavar="ADDRESS", help="Sender of the mails.")
    ] = None,
    address_template: Annotated[
        str | None, typer.Option(help="A client's address, such as {client}@example.com.")
    ] = None,
    failed_again: Annotated[
        bool, typer.Option("--failed-again", help="Try those again that were refused.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: one object.")] = False,
) -> None:
    """Record a mail for each client who held US stock at the end of a week; send those due.

    The end is Monday 00:00 UTC after the week; a week that is not over is refused. The first run
    records the mails, and nothing is added later. With a mail server, each run sends the mails that
    are due. Several workers may run at once: a lease keeps each mail to one of them. A run never
    waits: start it every few minutes until nothing is due. A mail that was sent is not sent again.
    """
    settings = settings_of(
        smtp_url=smtp_url, mail_from=sender, mail_address_template=address_template
    )
    assert isinstance(settings, MailSettings)  # those of the application extend it
    with Console(stderr=True).status(f"mail of {week}"):
        report = run(settings, week, worker, failed_again)
    if json:
        typer.echo(json_module.dumps(_facts(week, report)))
    counts = report.counts
    typer.echo(
        f"{week}: {report.recorded} mails recorded; {counts.sent} sent, {counts.failed} refused, "
        f"{counts.put_back} put back; {report.due} due",
        err=True,
    )


def _facts(week: Week, report: Report) -> dict[str, object]:
    return {
        "week": str(week),
        "cut_off": iso_time(week.cut_off),
        "recorded": report.recorded,
        **asdict(report.counts),
        "due": report.due,
    }
