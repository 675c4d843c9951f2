"""What can be chosen of this business, besides what can be chosen of the engine."""

from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from commands.policies.award_points import FACTOR
from projections.outbound.weekly_mail.settings import MailSettings
from projections.us_exchanges import US_EXCHANGES
from verdict.settings import listed


class BusinessSettings(MailSettings):
    """The settings of this application."""

    us_exchanges: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = Field(
        US_EXCHANGES,
        min_length=1,
        description="What us_holder, us_holder_from_state and client_overview count as US.",
    )
    loyalty_factor: Annotated[Decimal, Field(ge=0, le=1000)] = Field(
        FACTOR, description="Points for each unit of money on an invoice."
    )
