"""This application, put together: what it is made of, in one value."""

from aggregates.enrolment import enrolment
from aggregates.invoice import invoice
from aggregates.loyalty import loyalty
from aggregates.order import order
from aggregates.position import position
from commands.point_of_sale import point_of_sale
from commands.policies.award_points import award_points
from compose.settings import BusinessSettings
from projections.outbound.invoice_line import invoice_line
from projections.outbound.loyalty_notification import loyalty_notification
from projections.outbound.shipment import shipment
from schemas.share_holding import share_holders
from verdict import Application, ReadModel, Verb

# modules of verbs: loaded when they are called, as they import much of the engine
DEMO = "compose.demo.verb"
MAIL = "projections.outbound.weekly_mail.verb"


def read_models() -> tuple[ReadModel, ...]:
    """Return the read models, which bring SQLAlchemy with them: who asks for none is quicker."""
    from compose.read_models import READ_MODELS

    return READ_MODELS


app = Application(
    name="orders and invoices",
    aggregates=(enrolment, invoice, loyalty, order, position),
    schemas="schemas",
    namespace="verdict",
    read_models=read_models,
    policies=(award_points,),
    notifications=(shipment, loyalty_notification),
    inbound=(point_of_sale,),
    states=(share_holders,),
    lake=invoice_line,
    settings=BusinessSettings,
    verbs=(
        Verb("demo", "Show the whole path on throw-away data.", "Run", DEMO, alone=True),
        Verb("mail", "Record the mails of a week; send them.", "Read side", MAIL),
    ),
)
