"""Settings: flag > `VERDICT_*` > `.env` > `verdict.toml` > default.

Both files are looked for in the working directory; `verdict.toml` holds the names of the fields
below. `verdict.settings.load` makes the one `Settings` of a process.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    FilePath,
    NonNegativeInt,
    PositiveInt,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from verdict.model.application import Application
from verdict.settings.application_loader import NoApplicationHereError
from verdict.settings.database_address import AUDITOR, READER, SUPPORT, Roles
from verdict.settings.parsers import (
    cluster_url,
    database,
    dotted,
    folder,
    kafka_servers,
    listed,
    parse_output_limit,
    parse_possible,
    parse_token,
    shared_folder,
    topic_or_prefix,
)
from verdict.settings.user_folders import data_folder
from verdict.wire.dead_letter_record import MOST_ATTEMPTS
from verdict.wire.topics import PARTITIONS, Topics

TOML = "verdict.toml"
MIB = 1 << 20

Folder = Annotated[Path, BeforeValidator(folder), AfterValidator(parse_possible)]
SharedFolder = Annotated[Path | str | None, BeforeValidator(shared_folder)]
ClusterUrl = Annotated[str, AfterValidator(cluster_url)]
Servers = Annotated[str, AfterValidator(kafka_servers)]
Token = Annotated[SecretStr, AfterValidator(parse_token)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(database)]
PassThrough = Annotated[dict[str, SecretStr], BeforeValidator(dotted)]
Bytes = Annotated[PositiveInt, AfterValidator(parse_output_limit)]
KafkaName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,80}$")]
RoleName = Annotated[str, StringConstraints(min_length=1, max_length=63)]
KafkaPrefix = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{0,80}$")]


class Settings(BaseSettings):
    """All that can be chosen; made by `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix="VERDICT_",
        env_file=".env",
        dotenv_filtering="match_prefix",  # the file may hold other programs' variables
        toml_file=TOML,
        extra="forbid",
        frozen=True,
    )

    _application: Application | None = PrivateAttr(None)

    app: str | None = Field(
        None,
        description="The application, as MODULE:NAME; unset: compose.application:app, "
        "if the working directory has it.",
    )
    deployment: KafkaName = Field(
        "verdict", description="Names progress records and transactions: one per Kafka and purpose."
    )
    topic_prefix: KafkaPrefix = Field("", description="Prefix of every topic name.")
    data_dir: Folder = Field(
        default_factory=data_folder,
        description="Checkpoint, state, embedded broker, SQLite.",
    )
    bootstrap_servers: Servers | None = Field(
        None, description="Your Kafka; unset: the embedded one."
    )
    broker_flush: bool = Field(
        True,
        description="The embedded broker writes to the disk before it answers, so that a power "
        "failure loses nothing; false: faster, and it may.",
    )
    database_url: DatabaseUrl | None = Field(
        None, description="sqlite:////path or postgresql://user@host/db; unset: in data_dir."
    )
    reader_role: RoleName = Field(
        READER, description="PostgreSQL role that may select the views, nothing personal in events."
    )
    auditor_role: RoleName = Field(AUDITOR, description="The same, and payloads of events whole.")
    support_role: RoleName = Field(SUPPORT, description="The same, and dead letters.")

    partitions: PositiveInt = Field(PARTITIONS, description="Of each topic, when it is created.")
    shards: PositiveInt = Field(
        2, description="At the first start; 1 answers sooner, more decide more."
    )
    cores: PositiveInt | None = Field(
        None, description="Spark tasks at a time on this machine; unset: all."
    )
    spark_master: ClusterUrl | None = Field(
        None, description="Of a Spark cluster, such as spark://host:7077; unset: this machine."
    )
    spark: PassThrough = Field(
        {}, description="More for Spark, by its names without `spark.`, such as executor.memory."
    )
    shared_dir: SharedFolder = Field(
        None,
        description="Checkpoint and lake, for all machines of a cluster to see, or s3a://BUCKET/…; "
        "unset: data_dir.",
    )
    driver_memory: Annotated[str, StringConstraints(pattern=r"^[1-9]\d*[kmgt]$")] = Field(
        "1g", description="Heap of the JVM."
    )
    trigger_ms: NonNegativeInt = Field(
        0, description="Least time between batches; more is cheaper and later."
    )
    projection_trigger_ms: NonNegativeInt = Field(
        500, description="The same for the projections; less takes from the decider's processors."
    )
    projection_processes: PositiveInt | None = Field(
        None,
        description="Processes that bring the projections forward, each some of them; unset: 1 on "
        "SQLite, which has one writer at a time, 4 on PostgreSQL.",
    )
    policy_trigger_ms: NonNegativeInt = Field(
        250, description="The same for what follows from events: commands, notifications."
    )
    lake_trigger_ms: NonNegativeInt = Field(
        10_000, description="The same for the lake; more makes fewer and larger files."
    )
    lake_dir: Folder | None = Field(
        None, description="Where Parquet files go, on a POSIX file system; unset: in data_dir."
    )
    max_rows_per_batch: PositiveInt = Field(20_000, description="Commands in one batch.")
    slow_batch_s: PositiveInt = Field(
        60, description="A batch that takes longer is reported: log, `verdict status`."
    )
    transaction_timeout_s: PositiveInt = Field(
        15, description="Of one batch's transaction; more when a full batch needs it."
    )
    max_command_bytes: Bytes = Field(
        64 * 1024, description="Of one command; more is a dead letter; 1572864 at most."
    )
    max_events_bytes: Bytes = Field(
        MIB, description="Of all events of one command; more is TOO_LARGE; 1572864 at most."
    )
    deduplication_window_hours: PositiveInt = Field(
        24, description="How long a command id is remembered at least."
    )
    retry_attempts: Annotated[int, Field(ge=0, le=MOST_ATTEMPTS)] = Field(
        3, description="Retries of a dead letter without the header; then it is parked."
    )
    retry_backoff: str = Field(
        "exponential:1s,2,1h", description="How long such a dead letter waits before a retry."
    )
    retry_topics: Annotated[
        tuple[Annotated[str, AfterValidator(topic_or_prefix)], ...],
        NoDecode,
        BeforeValidator(listed),
    ] = Field(
        (),
        description="More topics for retries than commands and `inbound` ones: parcels, shop.*",
    )
    retry_poll_ms: PositiveInt = Field(500, description="How often to look for due dead letters.")
    sql_timeout_s: PositiveInt = Field(
        60, description="How long a query on the read side may take, with all its rows."
    )

    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="How Kafka is spoken to."
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="With SASL."
    )
    kafka_user: str | None = Field(None, description="With SASL.")
    kafka_password: SecretStr | None = Field(None, description="With SASL.")
    kafka_ca_file: FilePath | None = Field(None, description="PEM.")
    kafka_certificate_file: FilePath | None = Field(None, description="PEM, with its chain.")
    kafka_key_file: FilePath | None = Field(
        None,
        description="PEM, PKCS 8; encrypted: openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES (Java 17).",
    )
    kafka_key_password: SecretStr | None = Field(None, description="Of the key file.")
    kafka: PassThrough = Field({}, description="More for librdkafka, by its names.")
    spark_kafka: PassThrough = Field({}, description="More for Spark's Kafka, by Java's names.")

    page: bool = Field(
        True, description="With `verdict up`: a page, metrics, REST; needs the extra `page`."
    )
    page_host: str = Field(
        "127.0.0.1", description="Address that the page listens on; 0.0.0.0: all of this machine."
    )
    page_port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        0, description="Its port; 0: that of the last start, or any that is free; `ready` names it."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = Field(
        (), description="Host names that it answers to, besides localhost and IP addresses."
    )
    page_token: Token | None = Field(
        None,
        description="Needed to see personal data, run SQL and send commands; unset: impossible.",
    )

    schema_registry_url: SecretStr | None = Field(
        None, description="Where `verdict schemas publish` puts schemas for other tools."
    )

    @property
    def application(self) -> Application:
        """The application that these are the settings of."""
        if self._application is None:
            raise NoApplicationHereError
        return self._application

    @property
    def chosen(self) -> dict[str, object]:
        """The settings of the application, by name."""
        own = type(self).model_fields.keys() - Settings.model_fields.keys()
        return {name: getattr(self, name) for name in own}

    @property
    def durable_location(self) -> Path | str:
        """What every machine must see, with checkpoint and outputs: a folder, or `s3a://…`."""
        if isinstance(self.shared_dir, str):
            return self.shared_dir
        return (self.shared_dir or self.data_dir).absolute()

    @property
    def in_object_store(self) -> bool:
        """Whether `durable_location` is in an object store."""
        return isinstance(self.shared_dir, str)

    @property
    def lake_folder(self) -> Path:
        """Where the lake's files are; never in an object store, which cannot rename."""
        where = self.durable_location
        home = self.data_dir if isinstance(where, str) else where
        return (self.lake_dir or home / "lake").absolute()

    @property
    def roles(self) -> Roles:
        """Who may see what of the read side."""
        return Roles(self.reader_role, self.auditor_role, self.support_role)

    @property
    def topics(self) -> Topics:
        """The topics of this deployment."""
        return Topics(self.application, self.deployment, self.topic_prefix, self.partitions)

    @model_validator(mode="after")
    def _security_is_whole(self) -> Self:
        sasl = self.kafka_security_protocol.startswith("SASL")
        if sasl and not (self.kafka_user and self.kafka_password):
            raise ValueError(
                f"kafka_security_protocol is {self.kafka_security_protocol}: "
                "set kafka_user and kafka_password too"
            )
        if self.kafka_user and not sasl:
            raise ValueError(
                f"kafka_user is set but kafka_security_protocol is {self.kafka_security_protocol}: "
                "set it to SASL_SSL or SASL_PLAINTEXT"
            )
        if bool(self.kafka_certificate_file) != bool(self.kafka_key_file):
            raise ValueError("kafka_certificate_file and kafka_key_file belong together")
        return self

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *_: Any, **sources: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the strongest first."""
        given = [sources[f"{name}_settings"] for name in ("init", "env", "dotenv")]
        return (*given, TomlConfigSettingsSource(settings_cls))
