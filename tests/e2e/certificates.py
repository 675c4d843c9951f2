"""Certificates for a test, made by openssl: an authority, and whom it vouches for."""

import subprocess
from pathlib import Path
from typing import NamedTuple

ELLIPTIC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")  # quicker than RSA


class Certificate(NamedTuple):
    """A certificate and its key, both PEM."""

    file: Path
    key: Path


def authority(folder: Path, name: str) -> Certificate:
    """Make an authority that vouches for itself."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    _openssl(
        *("req", "-x509", *ELLIPTIC, "-nodes", "-days", "2", "-subj", f"/CN={name}"),
        *("-keyout", made.key, "-out", made.file),
    )
    return made


def signed(
    by: Certificate, folder: Path, name: str, host: str = "", password: str = ""
) -> Certificate:
    """Make a certificate that an authority vouches for."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    request, extensions = folder / f"{name}.csr", folder / f"{name}.ext"
    extensions.write_text(f"subjectAltName=IP:{host}\n" if host else "basicConstraints=CA:FALSE\n")
    _openssl(
        *("req", "-new", *ELLIPTIC, "-nodes", "-subj", f"/CN={name}"),
        *("-keyout", made.key, "-out", request),
    )
    _openssl(
        *("x509", "-req", "-in", request, "-CA", by.file, "-CAkey", by.key, "-CAcreateserial"),
        *("-days", "2", "-extfile", extensions, "-out", made.file),
    )
    if password:
        locked = folder / f"{name}.locked"
        _openssl(
            *("pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{password}"),
            *("-in", made.key, "-out", locked),
        )
        locked.replace(made.key)
    return made


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
