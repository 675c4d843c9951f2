"""This application's read models, in the order in which a batch updates them."""

from projections.client_overview import client_overview
from projections.client_recent_order import client_recent_order
from projections.program_tally import program_tally
from projections.us_exchanges import built_with
from projections.us_holder import us_holder
from projections.us_holder_from_state import us_holder_from_state
from verdict import ReadModel

US_EXCHANGES = ("us_exchanges",)

READ_MODELS = (
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
    ReadModel(
        name="client_overview",
        key=("client",),
        at=client_overview,
        settings=US_EXCHANGES,
        built_with=built_with,
    ),
)
