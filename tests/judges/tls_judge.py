"""sslscan and testssl.sh scan every port of three fresh nodes with TLS; openssl and gnutls-cli are clients that must be refused."""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree
from pathlib import Path

from hello_frame import hello_frame
from secured_nodes import KINDS, Cluster, Lab, with_nodes
from stacks_judge import PYTHON
from tls_clients import CLIENT_S, gnutls, gnutls_pair, openssl, pair, version_in, version_of_package

SUMMARY = "sslscan and testssl.sh find nothing of MEDIUM or above on any port; openssl and gnutls-cli are refused where they must be"
BAD = ("MEDIUM", "HIGH", "CRITICAL", "FATAL")
# Findings that are allowed, with the reason. They concern the certificate of a CA that the judge made for itself.
ALLOWED = {
    "cert_revocation": "the certificate of a lab's CA names no CRL or OCSP address: each node has the list as a file (--tls-crl)",
    "cert_chain_of_trust": "the CA is the lab's own, and no browser knows it",
}
TESTSSL_S = 900
VERSIONS_OFF = ("2", "3", "1.0", "1.1", "1.2")  # As sslscan names them.


def versions() -> dict:
    return {"sslscan": version_in(r"(\d+\.\d+\.\d+\S*)", "sslscan", "--version"), "testssl.sh": version_of_package("testssl.sh"),
            "openssl": version_in(r"OpenSSL (\S+)", "openssl", "version"),
            "gnutls-cli": version_in(r"gnutls-cli (\S+)", "gnutls-cli", "--version")}


# ---- scanners -------------------------------------------------------------------------------------------------------

def sslscan(lab: Lab, port: int) -> list:
    """What is wrong with the port; nothing: no fault was found."""
    report = lab.directory / f"sslscan-{port}.xml"
    done = subprocess.run(["sslscan", "--no-colour", f"--xml={report}", f"--certs={lab.path('admin.crt')}",
                           f"--pk={lab.path('admin.key')}", f"127.0.0.1:{port}"],
                          capture_output=True, text=True, timeout=CLIENT_S * 3, check=False)
    test = xml.etree.ElementTree.parse(report).getroot().find("ssltest") if done.returncode == 0 else None
    if test is None:
        return [f"no scan: {done.stdout}{done.stderr}"]
    faults = [f"{each.get('type')} {each.get('version')} is spoken" for each in test.iter("protocol")
              if each.get("version") in VERSIONS_OFF and each.get("enabled") == "1"]
    if not any(each.get("version") == "1.3" and each.get("enabled") == "1" for each in test.iter("protocol")):
        faults.append("TLS 1.3 is not spoken")
    ciphers = [(each.get("sslversion"), each.get("cipher"), int(each.get("bits"))) for each in test.iter("cipher")]
    faults += [f"cipher {cipher}" for cipher in ciphers if cipher[0] != "TLSv1.3" or cipher[2] < 128]
    if not ciphers:
        faults.append("no cipher was found")
    faults += ["heartbleed" for each in test.iter("heartbleed") if each.get("vulnerable") == "1"]
    return faults


def testssl(lab: Lab, port: int) -> tuple:
    """(findings of BAD severity that are not allowed, number of findings, checks that testssl.sh could not make)"""
    report = lab.directory / f"testssl-{port}.json"
    said = lab.directory / f"testssl-{port}.txt"
    with said.open("w") as out:  # A session of its own, so that its children end with it.
        scan = subprocess.Popen(["testssl", "--quiet", "--color", "0", "--warnings", "off", "--add-ca", str(lab.path("ca.crt")),
                                 "--jsonfile", str(report), f"127.0.0.1:{port}"],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            scan.wait(timeout=TESTSSL_S)
        except subprocess.TimeoutExpired:
            os.killpg(scan.pid, signal.SIGKILL)
            scan.wait()
    try:
        findings = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        findings = []
    # The end of a scan that came to its end.
    if not any(each["id"] == "scanTime" for each in findings) or not any(each["id"] == "TLS1_3" for each in findings):
        return [f"no whole scan in {TESTSSL_S} s: {said.read_text(errors='replace')[-1000:]}"], len(findings), []
    bad = [f"{each['id']} {each['severity']}: {each['finding']}" for each in findings
           if each["severity"] in BAD and each["id"].split(" ")[0] not in ALLOWED]
    return bad, len(findings), [each["id"] for each in findings if each["severity"] == "WARN"]


def check_testssl(lab: Lab, cluster: Cluster, verdict) -> None:
    """One port of each kind: the same code serves the others, and a scan takes minutes."""
    of_node_1 = [(port, name) for port, name in cluster.ports() if port in cluster.ports_of(1)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda each: testssl(lab, each[0]), of_node_1))
    for (_, name), (bad, _, _) in zip(of_node_1, found):
        verdict.expect(f"testssl.sh has no finding of MEDIUM or above about the {name} port", not bad, "; ".join(bad))
    unmade = [check for _, _, checks in found for check in checks]
    verdict.figures.append(f"testssl.sh: {sum(count for _, count, _ in found)} findings about {len(found)} ports, checks not made: "
                           + (", ".join(unmade) or "none"))


# ---- clients --------------------------------------------------------------------------------------------------------

def check_clients(lab: Lab, cluster: Cluster, verdict) -> None:
    port = cluster.metrics[1]

    def expect(what: str, seen: tuple, is_served: bool) -> None:
        verdict.expect(what, seen[0] == is_served, seen[1])

    for name, client, shows in (("openssl", openssl, pair), ("gnutls-cli", gnutls, gnutls_pair)):
        old = ("-tls1_2",) if client is openssl else ("--priority=NORMAL:-VERS-ALL:+VERS-TLS1.2",)
        expect(f"{name} with a certificate of the CA is served", client(lab, port, *shows(lab, "admin")), True)
        expect(f"{name} with TLS 1.2 is refused", client(lab, port, *old), False)
        for bad, why in (("stranger", "of another CA"), ("expired", "that has expired"), ("revoked", "that was revoked")):
            expect(f"{name} with a certificate {why} is refused", client(lab, port, *shows(lab, bad)), False)
    expect("openssl that knows another CA refuses the node", openssl(lab, port, "-CAfile", str(lab.path("other.crt"))), False)
    expect("openssl that expects another name refuses the node",
           openssl(lab, port, "-verify_ip", "127.0.0.9"), False)
    expect("gnutls-cli that expects another name refuses the node", gnutls(lab, port, "--verify-hostname=db9.example.org"), False)


def check_peer_port(lab: Lab, cluster: Cluster, verdict) -> None:
    """Without a certificate, or with one that names no node of the cluster, nobody gets a word of the protocol."""
    for words, what in (((), "no certificate"), (pair(lab, "stranger"), "a certificate of another CA"),
                        (pair(lab, "revoked"), "a revoked certificate"), (pair(lab, "expired"), "an expired certificate")):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{cluster.peer[1]}", "-CAfile", str(lab.path("ca.crt")),
                               "-quiet", "-ign_eof", *words], input="x" * 64, capture_output=True, text=True, errors="replace",
                              timeout=CLIENT_S, check=False)
        verdict.expect(f"the peer port refuses {what} with an alert", "alert" in done.stderr, done.stderr)


def check_plain_text(cluster: Cluster, verdict) -> None:
    for port, name in cluster.ports():
        answer = subprocess.run(["curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{port}/livez"]
                                if shutil.which("curl") else ["python3", "-c", PLAIN, str(port)],
                                capture_output=True, text=True, timeout=CLIENT_S, check=False).stdout
        verdict.expect(f"plain text at the {name} port of {port} is served nothing", not answer.startswith("2"), answer)
    done = cluster.ctl_raw("--endpoints", f"127.0.0.1:{cluster.client[1]}", "status", user="")
    verdict.expect("gcoordctl in plain text hears GC3113", "GC3113" in done.stdout + done.stderr, done.stdout + done.stderr)


PLAIN = ("import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); "
         "s.sendall(b'GET /livez HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(64).split(b' ')[1].decode() if s else '')")


def check_sslscan(lab: Lab, ports: list, verdict) -> None:
    for port, name in ports:
        faults = sslscan(lab, port)
        verdict.expect(f"sslscan finds TLS 1.3 and nothing else at the {name} port of {port}", not faults, "; ".join(faults))


def judge_short(programs: Path, verdict) -> None:
    def checks(lab: Lab, cluster: Cluster) -> None:
        check_sslscan(lab, cluster.ports()[:len(KINDS)], verdict)
        seen = openssl(lab, cluster.metrics[1], *pair(lab, "admin"))
        verdict.expect("openssl with a certificate of the CA is served", seen[0], seen[1])
        for bad in ("stranger", "expired", "revoked"):
            seen = openssl(lab, cluster.metrics[1], *pair(lab, bad))
            verdict.expect(f"openssl with the certificate '{bad}' is refused", not seen[0], seen[1])
        for user, is_welcome in (("admin", True), ("revoked", False)):
            heard = PYTHON.say(lab, cluster.client[1], hello_frame(), user=user, until="GCRP")
            verdict.expect(f"a Hello by Python's ssl with the certificate '{user}' gets {'a' if is_welcome else 'no'} Welcome",
                           ("GCRP" in heard) == is_welcome, heard)

    with_nodes(programs, checks)


def judge(programs: Path, verdict) -> None:
    def checks(lab: Lab, cluster: Cluster) -> None:
        check_clients(lab, cluster, verdict)
        check_peer_port(lab, cluster, verdict)
        check_plain_text(cluster, verdict)
        check_sslscan(lab, cluster.ports(), verdict)
        check_testssl(lab, cluster, verdict)
        # After all that the nodes still serve.
        served = cluster.ctl("lock", "acquire", "after", "--ttl", "5s")
        verdict.expect("all nodes serve after the scans", "token" in served, json.dumps(served))

    verdict.programs = versions()
    with_nodes(programs, checks)
