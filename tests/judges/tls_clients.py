"""Programs that speak TLS, as clients of a node: each reads from stdin what it says and writes to stdout what it hears."""

import re
import subprocess
import threading
from pathlib import Path

from secured_nodes import Lab

CLIENT_S = 60  # Of a machine that does much besides.


def get(page: str) -> bytes:
    return f"GET {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def talk(command: list, said: bytes, until: str = "", environment: dict = None) -> str:
    """All that the client wrote, until its end or until `until`. Its input stays open: the end is the node's, or its own."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    late = threading.Timer(CLIENT_S, child.kill)
    late.start()
    try:
        child.stdin.write(said)
        child.stdin.flush()
    except BrokenPipeError:
        pass  # It has ended, and said why.
    heard = ""
    while part := child.stdout.read1().decode(errors="replace"):
        heard += part
        if until and until in heard:
            child.kill()
            break
    late.cancel()
    child.wait()
    child.stdout.close()
    return heard


def status_of(heard: str) -> int:
    """Of the answer to a GET; 0: there was none."""
    found = re.search(r"HTTP/1\.[01] (\d{3})", heard)
    return int(found.group(1)) if found else 0


def served(command: list) -> tuple:
    """(whether a GET was answered, what was said)"""
    heard = talk(command, get("/livez"))
    return status_of(heard) == 200, heard


def openssl(lab: Lab, port: int, *words: str) -> tuple:
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", str(lab.path("ca.crt")), "-verify_return_error",
               "-ign_eof", "-quiet", *words]
    return served(command)


def gnutls(lab: Lab, port: int, *words: str) -> tuple:
    command = ["gnutls-cli", f"--port={port}", f"--x509cafile={lab.path('ca.crt')}", *words, "127.0.0.1"]
    return served(command)


def pair(lab: Lab, name: str) -> tuple:
    return "-cert", str(lab.path(f"{name}.crt")), "-key", str(lab.path(f"{name}.key"))


def gnutls_pair(lab: Lab, name: str) -> tuple:
    return f"--x509certfile={lab.path(f'{name}.crt')}", f"--x509keyfile={lab.path(f'{name}.key')}"


def version_in(pattern: str, *words: str) -> str:
    """The version that a program says of itself."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return re.search(pattern, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)).group(1)


def version_of_package(package: str) -> str:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
    return done.stdout or "unknown"


class ForeignProgram:
    """A server or front that runs until end(); its words are in a file."""

    def __init__(self, command: list, said: Path, **how):
        self.said = said
        with said.open("w") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **how)

    def words(self) -> str:
        return self.said.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=CLIENT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
