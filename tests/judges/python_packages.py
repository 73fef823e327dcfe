"""Packages of PyPI that judges need, in a folder of their own under build/: pip puts them there once."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "judges" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def python_packages(verdict, *wanted: str) -> bool:
    """Whether all of them, such as "spiffe==0.3.2", are in FOLDER. Notes their versions."""
    missing = [each for each in wanted if not (FOLDER / (each.replace("==", "-") + ".dist-info")).exists()]
    said = ""
    if missing:
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", str(FOLDER),
                               *missing], capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
    there = [each for each in wanted if (FOLDER / (each.replace("==", "-") + ".dist-info")).exists()]
    verdict.programs.update(dict(each.split("==") for each in there))
    return verdict.expect(f"pip has {', '.join(wanted)}", len(there) == len(wanted), said)
