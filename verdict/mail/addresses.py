"""From clients to mail addresses: a template, or somebody else's directory."""

from collections.abc import Callable
from email.errors import MessageError
from email.headerregistry import Address

from verdict.configuration.loading import SettingsInvalid
from verdict.model.application import Application

CLIENT = "{client}"

AddressOf = Callable[[str], str]


class NoAddress(ValueError):
    """A text is no address that a mail can be sent to."""


def addresses(application: Application, wanted: str) -> AddressOf:
    """Return the function from client to address.

    Args:
        application: Whose.
        wanted: A template such as `{client}@example.com`; or a name among the application's
            `mail_addresses`: a function that takes the client's name and returns the address,
            raises `OSError` when it cannot tell just now, and anything else when there is none.

    Raises:
        SettingsInvalid: It is neither.
    """
    if CLIENT in wanted:
        return lambda client: wanted.replace(CLIENT, client)
    there = application.mail_addresses
    if wanted not in there:
        known = ", ".join(sorted(there)) or "none"
        raise SettingsInvalid(
            f"{wanted!r} tells no client's address: give a template such as {CLIENT}@example.com, "
            f"or a name among the `mail_addresses` of {application.name} (there: {known})"
        )
    return there[wanted]


def checked(text: str) -> Address:
    """Return the address.

    Raises:
        NoAddress: It is none, or more than one.
    """
    try:
        address = Address(addr_spec=text)
    except (ValueError, LookupError, MessageError) as error:
        raise NoAddress(f"{text!r} is no mail address ({error})") from error
    if address.addr_spec != text:
        raise NoAddress(f"{text!r} is more than a mail address, which is {address.addr_spec!r}")
    return address
