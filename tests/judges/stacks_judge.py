"""Stacks of TLS that are not OpenSSL's, and newer ones than a node's, as clients with certificates; and gcoordctl at their servers."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from hello_frame import hello_frame
from python_packages import FOLDER as PACKAGES, python_packages
from secured_nodes import NODES, Lab, with_nodes
from three_nodes import free_ports, wait_for
from tls_clients import ForeignProgram, get, gnutls_pair, pair, status_of, talk, version_in, version_of_package

SUMMARY = "wolfSSL, mbedTLS, Go, Python and libcurl with a newer OpenSSL as clients with certificates; keys in a PKCS#11 token"
SOURCES = Path(__file__).resolve().parent / "stacks"
BAD = {"stranger": "of another CA", "expired": "that has expired", "revoked": "that was revoked"}
# A page that needs a right: 200 proves that the node knows whose certificate it saw, 401 that it saw none.
PAGE = "/debug/build"
# Debian's folder of it, and the PIN of the token that the judge makes.
SOFTHSM, PIN = "/usr/lib/softhsm/libsofthsm2.so", "1234"


@dataclass
class Stack:
    """A client that takes PORT NAME CA CERT KEY VERSION."""
    name: str
    command: list
    speaks_frames: bool = True  # Else it speaks HTTP only.
    environment: dict = field(default_factory=lambda: dict(os.environ))

    def say(self, lab: Lab, port: int, said: bytes, **how) -> str:
        """how: user, ca, name, version, until."""
        user = how.get("user")
        files = [str(lab.path(f"{user}.crt")), str(lab.path(f"{user}.key"))] if user else ["-", "-"]
        words = [str(port), how.get("name", "localhost"), str(lab.path(how.get("ca", "ca.crt"))), *files, how.get("version", "13")]
        return talk(self.command + words, said, how.get("until", ""), self.environment)


PYTHON = Stack("Python ssl", [sys.executable, str(SOURCES / "python_client.py")])


def compiled(lab: Lab, source: str, *libraries: str) -> str:
    program = lab.directory / source
    lab.run("cc", "-O1", "-o", str(program), str(SOURCES / f"{source}.c"), *libraries)
    return str(program)


def check_stack(lab: Lab, cluster, stack: Stack, verdict) -> None:
    port, name = cluster.metrics[1], stack.name

    def expect(what: str, status: int, **how) -> str:
        heard = stack.say(lab, port, get(PAGE), **how)
        verdict.expect(f"{name} {what}", status_of(heard) == status, heard)
        return heard

    expect("with the administrator's certificate gets the page", 200, user="admin")
    expect("without a certificate gets 401", 401)
    for user, why in BAD.items():
        expect(f"with a certificate {why} gets no answer", 0, user=user)
    heard = expect("with TLS 1.2 gets no answer", 0, user="admin", version="12")
    verdict.expect(f"{name} with TLS 1.2 hears that the version is the reason",
                   "alert 70" in heard or "protocol version" in heard, heard)
    expect("that knows another CA refuses the node", 0, ca="other.crt")
    expect("that expects another name refuses the node", 0, name="db9.example.org")
    if stack.speaks_frames:
        for user, what in (("admin", "with a certificate"), (None, "without one")):
            heard = stack.say(lab, cluster.client[1], hello_frame(), user=user, until="GCRP")
            verdict.expect(f"a Hello by {name} {what} gets a Welcome", "GCRP" in heard, heard)
        heard = stack.say(lab, cluster.client[1], hello_frame(), user="revoked", until="GCRP")
        verdict.expect(f"a Hello by {name} with a revoked certificate gets none", "GCRP" not in heard, heard)


def check_hybrids(lab: Lab, cluster, stack: Stack, verdict) -> None:
    heard = stack.say(lab, cluster.metrics[1], get("/livez"))
    verdict.expect("a client that offers X25519MLKEM768 first agrees on x25519", "/ x25519 /" in heard, heard)


def check_old(lab: Lab, cluster, program: str, verdict) -> None:
    """mbedTLS 2.28 ends at TLS 1.2. The control shows that it is the version alone."""
    files = ["localhost", str(lab.path("ca.crt")), str(lab.path("admin.crt")), str(lab.path("admin.key"))]
    port = free_ports(1)[0]
    server = ForeignProgram(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", str(lab.path("node-1.crt")), "-key",
                             str(lab.path("node-1.key")), "-tls1_2", "-www"], lab.directory / "s_server.txt")
    try:
        wait_for("openssl s_server", lambda: "ACCEPT" in server.words(), 20)
        heard = talk([program, str(port), *files], get("/"))
        verdict.expect("mbedTLS and a server with TLS 1.2 understand each other (control)", status_of(heard) == 200, heard)
    finally:
        server.end()
    for port, kind in zip(cluster.ports_of(1), ("client", "peer", "metrics", "ledger")):
        heard = talk([program, str(port), *files], get("/livez"))
        verdict.expect(f"mbedTLS at the {kind} port hears alert 70: the version of TLS", "(msg 70)" in heard, heard)


# ---- Go ---------------------------------------------------------------------------------------------------------------

def job_of(lab: Lab, name: str, target: str, tls: dict) -> str:
    files = {"ca_file": lab.path("ca.crt"), "server_name": "localhost", **tls}
    return (f"- job_name: '{name}'\n  scheme: https\n  tls_config: {{{', '.join(f'{key}: {value}' for key, value in files.items())}}}\n"
            f"  static_configs: [{{targets: [{target}]}}]\n")


def targets_of(port: int) -> dict:
    """Job to (health, last error), of the targets that were scraped."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets", timeout=10) as answer:
            active = json.load(answer)["data"]["activeTargets"]
    except OSError:
        return {}
    return {each["scrapePool"]: (each["health"], each["lastError"]) for each in active if each["health"] != "unknown"}


def check_go(lab: Lab, cluster, verdict) -> None:
    """A Prometheus scrapes the HTTPS port in nine ways; its targets tell how each went."""
    def shown(user: str) -> dict:
        return {"cert_file": lab.path(f"{user}.crt"), "key_file": lab.path(f"{user}.key")}

    wanted = {f"node {node}": (cluster.metrics[node], shown("admin"), "up", "") for node in NODES}
    first = cluster.metrics[1]
    wanted.update({
        "no certificate": (first, {}, "down", "401"),
        "stranger": (first, shown("stranger"), "down", "unknown certificate authority"),
        "expired": (first, shown("expired"), "down", "expired certificate"),
        "revoked": (first, shown("revoked"), "down", "revoked certificate"),
        "TLS 1.2": (first, {**shown("admin"), "max_version": "TLS12"}, "down", "protocol version not supported"),
        "another CA": (first, {"ca_file": lab.path("other.crt")}, "down", "unknown authority"),
        "another name": (first, {"server_name": "db9.example.org"}, "down", "not db9.example.org"),
    })
    port = free_ports(1)[0]
    config = lab.directory / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n"
                      + "".join(job_of(lab, job, f"'127.0.0.1:{target}'", tls) for job, (target, tls, _, _) in wanted.items()),
                      encoding="utf-8")
    program = ForeignProgram(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={lab.directory / 'tsdb'}",
                              f"--web.listen-address=127.0.0.1:{port}"], lab.directory / "prometheus.txt")
    try:
        wait_for("a scrape of each target", lambda: len(targets_of(port)) == len(wanted), 90)
        seen = targets_of(port)
    finally:
        program.end()
    for job, (_, _, health, error) in wanted.items():
        what = "is scraped" if health == "up" else f"is not, and hears: {error}"
        verdict.expect(f"Go (Prometheus), {job}: {what}", seen[job][0] == health and error in seen[job][1], str(seen[job]))


# ---- keys in a token ----------------------------------------------------------------------------------------------------

def check_token(lab: Lab, cluster, verdict) -> None:
    """The private key stays in a PKCS#11 token; openssl by Debian's engine and gnutls-cli by itself sign with it."""
    (lab.directory / "tokens").mkdir()
    config = lab.directory / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {lab.directory / 'tokens'}\nobjectstore.backend = file\n", encoding="utf-8")
    environment = dict(os.environ, SOFTHSM2_CONF=str(config), PKCS11_MODULE_PATH=SOFTHSM)
    pkcs8 = lab.directory / "admin.p8"
    for words in (["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", str(lab.path("admin.key")), "-out", str(pkcs8)],
                  ["softhsm2-util", "--init-token", "--free", "--label", "judge", "--pin", PIN, "--so-pin", PIN],
                  ["softhsm2-util", "--import", str(pkcs8), "--token", "judge", "--label", "admin", "--id", "a1", "--pin", PIN]):
        subprocess.run(words, env=environment, check=True, capture_output=True)
    key, certificate = f"pkcs11:token=judge;object=admin;type=private;pin-value={PIN}", str(lab.path("admin.crt"))
    port, ca = cluster.metrics[1], str(lab.path("ca.crt"))
    for name, words in (
            ("openssl", ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", ca, "-quiet", "-ign_eof", "-engine",
                         "pkcs11", "-keyform", "engine", "-key", key, "-cert", certificate]),
            ("gnutls-cli", ["gnutls-cli", "--provider", SOFTHSM, f"--port={port}", f"--x509cafile={ca}",
                            f"--x509certfile={certificate}", f"--x509keyfile={key}", "localhost"])):
        heard = talk(words, get(PAGE), environment=environment)
        verdict.expect(f"{name} whose key is in a PKCS#11 token is the administrator", status_of(heard) == 200, heard)


# ---- gcoordctl at foreign servers ---------------------------------------------------------------------------------------

def check_servers(lab: Lab, cluster, verdict) -> None:
    """gcoordctl takes neither an older version nor a server of another CA, and says which it was."""
    port = free_ports(1)[0]
    of_openssl = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-quiet"]
    of_gnutls = ["gnutls-serv", f"--port={port}", "--echo"]
    lab.sign("server", "DNS:localhost,IP:127.0.0.1", "serverAuth", authority="other")
    for name, words, number in (
            ("openssl s_server with TLS 1.2 only", [*of_openssl, *pair(lab, "node-1"), "-tls1_2"], "GC3102"),
            ("gnutls-serv with TLS 1.2 only",
             [*of_gnutls, *gnutls_pair(lab, "node-1"), "--priority=NORMAL:-VERS-ALL:+VERS-TLS1.2"], "GC3101"),  # It says alert 40.
            ("openssl s_server of another CA", [*of_openssl, *pair(lab, "server")], "GC3103"),
            ("gnutls-serv of another CA", [*of_gnutls, *gnutls_pair(lab, "server")], "GC3103")):
        server = ForeignProgram(words, lab.directory / "server.txt")
        try:
            done = None

            def answered() -> bool:
                nonlocal done
                done = cluster.ctl_raw("--endpoints", f"127.0.0.1:{port}", "--timeout", "10s", "whoami")
                return "refused" not in done.stdout + done.stderr  # By the kernel: the server is not there yet.

            wait_for(name, answered, 20)
            said = done.stdout + done.stderr
            verdict.expect(f"gcoordctl at {name} ends with {number}", done.returncode != 0 and number in said, said)
        finally:
            server.end()


def judge(programs: Path, verdict) -> None:
    verdict.programs = {"mbedtls": version_of_package("libmbedtls-dev"), "wolfssl": version_of_package("libwolfssl-dev"),
                        "prometheus": version_in(r"version (\S+?),? ", "prometheus", "--version"),
                        "go": version_in(r"(?i)go version:?\s+go(\S+)", "prometheus", "--version"),
                        "openssl": version_in(r"OpenSSL (\S+)", "openssl", "version"),
                        "gnutls": version_in(r"gnutls-cli (\S+)", "gnutls-cli", "--version"),
                        "softhsm2": version_of_package("softhsm2"), "libengine-pkcs11-openssl": version_of_package("libengine-pkcs11-openssl"),
                        "python": sys.version.split()[0]}
    has_curl = python_packages(verdict, "pycurl==7.49.0")
    curl = [sys.executable, str(SOURCES / "pycurl_client.py")]
    with_packages = dict(os.environ, PYTHONPATH=str(PACKAGES))
    if has_curl:
        said = subprocess.run([*curl, "--version"], env=with_packages, capture_output=True, text=True, check=True).stdout
        verdict.programs["OpenSSL of pycurl"] = re.search(r"OpenSSL/(\S+)", said).group(1)

    def checks(lab: Lab, cluster) -> None:
        cluster.check_rights()
        stacks = [Stack("wolfSSL", [compiled(lab, "wolfssl_client", "-lwolfssl")]), PYTHON]
        if has_curl:
            stacks.append(Stack("libcurl", curl, False, with_packages))
            check_hybrids(lab, cluster, stacks[-1], verdict)
        for stack in stacks:
            check_stack(lab, cluster, stack, verdict)
        check_old(lab, cluster, compiled(lab, "mbedtls_client", "-lmbedtls", "-lmbedx509", "-lmbedcrypto"), verdict)
        check_go(lab, cluster, verdict)
        check_token(lab, cluster, verdict)
        check_servers(lab, cluster, verdict)

    with_nodes(programs, checks)
