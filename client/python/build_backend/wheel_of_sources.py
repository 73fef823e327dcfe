"""A PEP 517 build backend: zips the package into a wheel. It is pure Python, so that is all there is to do.

Own code, because every backend there is must be fetched first, and this package installs on machines without a network.
"""

import base64
import hashlib
import os
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "gcoord"


def version() -> str:
    for line in (ROOT / "pyproject.toml").read_text("utf-8").splitlines():
        if line.startswith("version = "):
            return line.split('"')[1]
    raise ValueError("pyproject.toml names no version")


def metadata() -> str:
    lines = {"Metadata-Version": "2.1", "Name": PACKAGE, "Version": version(), "Requires-Python": ">=3.9",
             "Summary": "Client of gcoord, a coordination service: fenced locks, leases, elections"}
    return "".join(f"{name}: {value}\n" for name, value in lines.items())


def files() -> dict:
    """What the wheel holds, by name in it."""
    content = {}
    for path in sorted((ROOT / PACKAGE).iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            content[f"{PACKAGE}/{path.name}"] = path.read_bytes()
    folder = f"{PACKAGE}-{version()}.dist-info"
    content[f"{folder}/METADATA"] = metadata().encode()
    content[f"{folder}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: gcoord\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{name},sha256={digest(body)},{len(body)}\n" for name, body in content.items())
    content[f"{folder}/RECORD"] = (record + f"{folder}/RECORD,,\n").encode()
    return content


def digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    name = f"{PACKAGE}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, body in files().items():
            wheel.writestr(path, body)
    return name


def build_sdist(sdist_directory, config_settings=None) -> str:
    name = f"{PACKAGE}-{version()}"
    with tarfile.open(os.path.join(sdist_directory, name + ".tar.gz"), "w:gz") as archive:
        for path in ("pyproject.toml", "build_backend", PACKAGE):
            archive.add(ROOT / path, f"{name}/{path}", filter=lambda each: None if "__pycache__" in each.name else each)
    return name + ".tar.gz"
