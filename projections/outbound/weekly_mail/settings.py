"""What can be chosen of the weekly mail."""

from dataclasses import replace
from typing import Annotated, Self

from pydantic import AfterValidator, Field, FilePath, SecretStr, model_validator

from projections.outbound.weekly_mail.smtp_server import SmtpServer, parse_server
from verdict import Settings

CLIENT = "{client}"


def _server_url(value: str) -> str:
    parse_server(value)
    return value


def _template(value: str) -> str:
    if CLIENT not in value:
        raise ValueError(f"{value!r} does not contain {CLIENT}: write {CLIENT}@example.com")
    return value


class MailSettings(Settings):
    """The settings of the weekly mail."""

    smtp_url: Annotated[str, AfterValidator(_server_url)] | None = Field(
        None, description="smtp://host:port without TLS, smtp+starttls:// or smtps:// with TLS."
    )
    smtp_user: str | None = Field(None, description="To log in, with TLS only.")
    smtp_password: SecretStr | None = Field(None, description="Of the user.")
    smtp_ca_file: FilePath | None = Field(None, description="PEM; unset: this machine's.")
    mail_from: str | None = Field(None, description="Sender of the weekly mail.")
    mail_address_template: Annotated[str, AfterValidator(_template)] | None = Field(
        None, description="A client's address: {client}@example.com."
    )
    mail_lease_s: Annotated[int, Field(ge=600)] = Field(
        900, description="How long a worker keeps a mail from the others."
    )

    @property
    def smtp_server(self) -> SmtpServer | None:
        """The mail server; None: mails are recorded only."""
        if self.smtp_url is None:
            return None
        password = self.smtp_password.get_secret_value() if self.smtp_password else ""
        return replace(
            parse_server(self.smtp_url),
            user=self.smtp_user,
            password=password,
            ca_file=self.smtp_ca_file,
        )

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if bool(self.smtp_user) != bool(self.smtp_password):
            raise ValueError("set smtp_user and smtp_password together")
        if self.smtp_user and self.smtp_url and self.smtp_url.startswith("smtp://"):
            raise ValueError(
                "smtp_password would be sent without encryption: begin smtp_url with "
                "smtp+starttls:// or smtps://"
            )
        return self
