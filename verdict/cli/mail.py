"""`verdict mail`: the weekly mail, recorded and sent."""

from dataclasses import asdict
from typing import Annotated

import typer

from verdict.cli.options import Json, settings_of
from verdict.cli.output import note, show_json
from verdict.cli.progress import progress
from verdict.database.time_text import wall_clock
from verdict.mail.share import Share, parse_share
from verdict.mail.week import Week, last_week, parse_week
from verdict.mail.weekly import Report, WeeklyMail
from verdict.model.message import iso_time

app = typer.Typer(add_completion=False)

LAST = "last"


def _week(text: str) -> Week:
    try:
        return last_week(wall_clock()) if text == LAST else parse_week(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _share(text: str) -> Share:
    try:
        return parse_share(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


WeekOption = Annotated[
    Week,
    typer.Option(parser=_week, metavar="WEEK", help="Such as 2026-W47, or last for the last one."),
]
WorkerOption = Annotated[
    Share,
    typer.Option(parser=_share, metavar="K/N", help="This worker, and how many there are."),
]
SmtpUrl = Annotated[
    str | None,
    typer.Option(
        metavar="smtp://HOST:PORT",
        help="Mail server; smtp+starttls:// or smtps:// with TLS.",
        show_default="none: mails are recorded only",
    ),
]
Sender = Annotated[
    str | None, typer.Option("--from", metavar="ADDRESS", help="Who writes the mails.")
]
AddressTemplate = Annotated[
    str | None,
    typer.Option(
        help="A client's address, such as {client}@example.com; or a name among"
        " the application's `mail_addresses`."
    ),
]
FailedAgain = Annotated[
    bool, typer.Option("--failed-again", help="Try those again that were refused for good.")
]


@app.command()
def mail(  # noqa: PLR0913  (options)
    week: WeekOption,
    worker: WorkerOption,
    smtp_url: SmtpUrl = None,
    sender: Sender = None,
    address_template: AddressTemplate = None,
    failed_again: FailedAgain = False,
    json: Json = False,
) -> None:
    """Record a mail for each client who gets one of a week, and send those due.

    A read model as of the week's end, Monday 00:00 UTC after it, tells who does; a week that is not
    over is refused. Whoever comes first records the mails, and nobody adds to them. With a mail
    server set, a worker sends its share, then what other workers did not send in time. Nobody
    waits: start each every few minutes until nothing is due. The same again sends nothing.
    """
    settings = settings_of(
        smtp_url=smtp_url,
        mail_from=sender,
        mail_address_template=address_template,
    )
    with progress(f"mail of {week}"):
        report = WeeklyMail(settings, week, worker).run(failed_again)
    if json:
        show_json(_facts(week, report))
    counts = report.counts
    note(
        f"{week}: {report.recorded} mails recorded; {counts.sent} sent, {counts.failed} refused, "
        f"{counts.put_back} put back; {report.due} due"
    )


def _facts(week: Week, report: Report) -> dict[str, object]:
    return {
        "week": str(week),
        "cut_off": iso_time(week.cut_off),
        "recorded": report.recorded,
        **asdict(report.counts),
        "due": report.due,
    }
