"""What has to be known to send a mail, from the settings."""

from dataclasses import dataclass, replace
from email.headerregistry import Address

from verdict.configuration.loading import SettingsInvalid
from verdict.configuration.mail_server import Server, parse_server
from verdict.configuration.settings import Settings
from verdict.mail.addresses import AddressOf, NoAddress, addresses, checked


@dataclass(frozen=True, slots=True)
class Sending:
    """Where mails go, from whom, and how a client becomes an address."""

    server: Server
    sender: Address
    address_of: AddressOf


def sending_of(settings: Settings) -> Sending | None:
    """Return what is set; None when there is no mail server, and mails are recorded only.

    Raises:
        SettingsInvalid: There is one, and what else is needed is missing or wrong.
    """
    if settings.smtp_url is None:
        return None
    if settings.mail_from is None or settings.mail_address_template is None:
        raise SettingsInvalid(
            "smtp_url is set, so mails are to be sent: set mail_from (--from), and "
            "mail_address_template (--address-template), such as {client}@example.com, too"
        )
    try:
        sender = checked(settings.mail_from)
    except NoAddress as error:
        raise SettingsInvalid(f"setting 'mail_from': {error}") from error
    server = replace(
        parse_server(settings.smtp_url),
        user=settings.smtp_user,
        password=settings.smtp_password.get_secret_value() if settings.smtp_password else "",
        ca_file=settings.smtp_ca_file,
    )
    return Sending(server, sender, addresses(settings.application, settings.mail_address_template))
