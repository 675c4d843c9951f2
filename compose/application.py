"""This application, put together: what it is made of, in one value."""

from aggregates.enrolment import enrolment
from aggregates.invoice import invoice
from aggregates.loyalty import loyalty
from aggregates.order import order
from aggregates.position import position
from commands.point_of_sale import point_of_sale
from commands.policies.award_points import award_points
from compose.settings import BusinessSettings
from projections.client_overview import client_overview
from projections.client_recent_order import client_recent_order
from projections.outbound.invoice_line import invoice_line
from projections.outbound.loyalty_notification import loyalty_notification
from projections.outbound.shipment import shipment
from projections.program_tally import program_tally
from projections.us_holder import us_holder
from projections.us_holder_from_state import us_holder_from_state
from schemas.share_holding import share_holders
from verdict import Application
from verdict.model import Verb

# modules of verbs: loaded when they are called, as they import much of the engine
DEMO = "compose.demo.verb"
MAIL = "projections.outbound.weekly_mail.verb"


app = Application(
    name="orders and invoices",
    aggregates=(enrolment, invoice, loyalty, order, position),
    schemas="schemas",
    namespace="verdict",
    projections=(
        us_holder,
        us_holder_from_state,
        client_recent_order,
        program_tally,
        client_overview,
    ),
    policies=(award_points,),
    notifications=(shipment, loyalty_notification),
    inbound=(point_of_sale,),
    state_topics=(share_holders,),
    lake=invoice_line,
    settings=BusinessSettings,
    verbs=(
        Verb("demo", "Show the whole path on throw-away data.", "Run", DEMO, alone=True),
        Verb("mail", "Record the mails of a week; send them.", "Read side", MAIL),
    ),
)
