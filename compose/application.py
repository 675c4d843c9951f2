"""This application, put together: what it is made of, in one value."""

from aggregates.enrolment import enrolment
from aggregates.invoice import invoice
from aggregates.loyalty import loyalty
from aggregates.order import order
from aggregates.position import position
from commands.policies.award_points import award_points
from projections.client_recent_order import client_recent_order
from projections.outbound.loyalty_notification import loyalty_notification
from projections.outbound.shipment import shipment
from projections.program_tally import program_tally
from projections.us_holder import built_with, us_holder
from projections.us_holder_from_state import us_holder_from_state
from verdict.application import Application
from verdict.model.read_model import ReadModel

US_EXCHANGES = ("us_exchanges",)

app = Application(
    name="orders and invoices",
    aggregates=(enrolment, invoice, loyalty, order, position),
    schemas="schemas",
    namespace="verdict",
    read_models=(
        ReadModel(
            name="us_holder",
            key=("client",),
            at=us_holder,
            settings=US_EXCHANGES,
            built_with=built_with,
        ),
        ReadModel(
            name="us_holder_from_state",
            key=("client",),
            at=us_holder_from_state,
            settings=US_EXCHANGES,
            built_with=built_with,
        ),
        ReadModel(name="client_recent_order", key=("client", "place"), at=client_recent_order),
        ReadModel(name="program_tally", key=("program",), at=program_tally),
    ),
    policies=(award_points,),
    notifications=(shipment, loyalty_notification),
)
