"""Which roles a process has, and what it keeps other processes out of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verdict.errors import UnreachableError
from verdict.read_side.catalog import declared_projections
from verdict.service.bootstrap import WorkingDirectory, directory_of, require_whole_directory
from verdict.service.roles import BROKER, LAKE, PROJECTIONS, ROLES, Role
from verdict.settings.checks import require_reachable_kafka
from verdict.settings.discovery import running_kafka
from verdict.settings.load import InvalidSettingsError
from verdict.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class RoleSet:
    """The roles of one process."""

    roles: tuple[Role, ...]
    place: WorkingDirectory
    chosen: tuple[str, ...] = ()
    alone: bool = False

    @property
    def spark(self) -> bool:
        """Whether one of them needs Spark."""
        return any(role.spark for role in self.roles)

    @property
    def database(self) -> bool:
        """Whether one of them needs the tables of the read side."""
        return any(role.database for role in self.roles)

    @property
    def names(self) -> tuple[str, ...]:
        """The roles as they are typed."""
        return tuple(" ".join((role.name, *self.chosen)) for role in self.roles)


def all_roles(settings: Settings) -> RoleSet:
    """Return all roles that there are for a deployment, for one process."""
    roles = tuple(role for role in ROLES if role.is_there(settings))
    apart = [(role.name,) for role in ROLES]
    named = _of_projections(declared_projections(settings.application))
    return RoleSet(roles, require_whole_directory(settings.data_dir, *apart, *named))


def alone(settings: Settings, name: str, chosen: Sequence[str] = ()) -> RoleSet:
    """Return one role for a process of its own."""
    role = next((one for one in ROLES if one.name == name), None)
    if role is None:
        raise InvalidSettingsError(
            f"no role {name!r}: there are {', '.join(r.name for r in ROLES)}"
        )
    if not role.is_there(settings) and role is LAKE:
        raise InvalidSettingsError(
            f"{settings.application.name} has no lake: there is nothing to run"
        )
    return RoleSet((role,), _place(settings, role, chosen), tuple(chosen), alone=True)


def with_kafka(settings: Settings, name: str) -> Settings:
    """Return settings that name the Kafka of a role; the broker's name none, as it is that."""
    require_reachable_kafka(settings)
    if name == BROKER.name:
        if settings.bootstrap_servers is not None:
            raise InvalidSettingsError(
                f"bootstrap_servers is {settings.bootstrap_servers}: Kafka is there already, "
                "unset it to run the embedded broker"
            )
        return settings
    if settings.bootstrap_servers is not None:
        return settings
    if (servers := running_kafka(settings.data_dir)) is not None:
        return settings.model_copy(update={"bootstrap_servers": servers})
    raise UnreachableError(
        f"a role by itself starts no Kafka, and none runs on {settings.data_dir}: name yours with "
        "--bootstrap-servers, or start `verdict run broker` first"
    )


def _place(settings: Settings, role: Role, chosen: Sequence[str]) -> WorkingDirectory:
    if role is not PROJECTIONS:
        if chosen:
            raise InvalidSettingsError(
                f"the role {role.name} takes no names: only projections does"
            )
        return directory_of(settings.data_dir, (role.name,))
    known = declared_projections(settings.application)
    if unknown := [name for name in chosen if name not in known]:
        raise InvalidSettingsError(f"no projection {unknown[0]!r}: there are {', '.join(known)}")
    whole = [] if chosen else [(role.name,)]
    return directory_of(settings.data_dir, *whole, *_of_projections(chosen or known))


def _of_projections(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(PROJECTIONS.name, name) for name in names]
