"""A user id without a name, as containers have it: Java and Hadoop want a name and a home."""

import os
import pwd
from pathlib import Path

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]


def java_home_of_the_user(instead: Path) -> list[str]:
    """Return the options that give a JVM a home, if this user has no entry in passwd."""
    return [] if _has_name() else [f"-Duser.home={instead}"]


def ensure_user_name(gateway: JavaGateway) -> None:
    """Tell Hadoop who this is, if this user has no entry in passwd: it would refuse to start."""
    if not _has_name():
        users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(str(os.getuid())))


def _has_name() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True
