"""haproxy and nginx before three nodes: as they pass TCP on, and as they end TLS and begin it anew with a certificate of their own."""

import http.client
import json
import socket
import ssl
import string
import subprocess
from pathlib import Path

from secured_nodes import KINDS, NODES, Cluster, Lab, with_nodes
from three_nodes import free_ports, wait_for
from tls_clients import CLIENT_S, ForeignProgram, version_in

SUMMARY = "haproxy and nginx before the ports: mutual TLS from end to end, the PROXY protocol refused, and the identity that a node sees"
TEMPLATES = Path(__file__).resolve().parent / "fronts"
# Ports of a front, by the names of the templates.
PORTS = (*(f"client_{node}" for node in NODES), "any", "proxied", "proxied_v2", "proxied_permissive", "proxied_pages", "pages", "ledger",
         "bare", "other_ca", "right_ca", "old", "new")
HELD_S = 60
SOURCE = "127.0.0.2"  # From where fronts connect to client ports, so that nodes see who it was.
# Headers by which fronts elsewhere say who is behind them.
FORGED = {"X-Forwarded-Client-Cert": "Subject=\"CN=admin\";URI=gcoord://1/user/admin", "X-SSL-Client-S-DN": "CN=admin",
          "X-Forwarded-User": "admin", "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1;by=admin"}


class Front:
    def __init__(self, name: str, lab: Lab, ports: dict):
        """ports: those of PORTS. They are the same for both fronts: nodes advertise them."""
        self.name, self.lab, self.ports, self.program = name, lab, ports, None
        template = {"haproxy": "haproxy.cfg", "nginx": "nginx.conf"}[name]
        self.config = lab.directory / template
        values = {f"node_{kind}_{node}": lab.port_of(kind, node) for kind in KINDS for node in NODES}
        text = string.Template((TEMPLATES / template).read_text(encoding="utf-8"))
        self.config.write_text(text.substitute(values, **ports, folder=lab.directory, made=lab.path(""),
                                               source=SOURCE), encoding="utf-8")

    def start(self) -> None:
        words = {"haproxy": ["haproxy", "-db", "-f", str(self.config)],
                 "nginx": ["nginx", "-e", "stderr", "-p", str(self.lab.directory), "-c", str(self.config)]}[self.name]
        self.program = ForeignProgram(words, self.lab.directory / f"{self.name}.txt")
        wait_for(self.name, self.listens, CLIENT_S)
        if self.name == "haproxy":
            wait_for("three nodes that are up", lambda: set(states(self.lab).values()) == {"UP"}, CLIENT_S)

    def listens(self) -> bool:
        if self.program.process.poll() is not None:
            raise RuntimeError(f"{self.name}: {self.program.words()}")
        try:
            for name in ("client_1", "new"):
                socket.create_connection(("127.0.0.1", self.ports[name]), 5).close()
        except OSError:
            return False
        return True

    def end(self) -> None:
        if self.program is not None:
            self.program.end()
            self.program = None

    def at(self, port: str) -> str:
        return f"127.0.0.1:{self.ports[port]}"

    def page(self, port: str, page: str, user: str = "scraper", **headers) -> tuple:
        """(status, text); the status is 0 where there was no answer."""
        context = ssl.create_default_context(cafile=str(self.lab.path("ca.crt")))
        if user:
            context.load_cert_chain(self.lab.path(f"{user}.crt"), self.lab.path(f"{user}.key"))
        connection = http.client.HTTPSConnection("localhost", self.ports[port], context=context, timeout=CLIENT_S)
        try:
            connection.request("GET", page, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()


# ---- TCP as it is -------------------------------------------------------------------------------------------------------

def check_passed_on(front: Front, cluster: Cluster, verdict) -> None:
    """What goes through the front is TLS between client and node; the node sees the client's certificate."""
    def ctl(*words: str, endpoint: str = "any", user: str = "admin") -> str:
        done = cluster.ctl_raw("--endpoints", front.at(endpoint), "--timeout", "30s", *words, user=user)
        return done.stdout + done.stderr

    name = front.name
    said = json.loads(ctl("whoami", endpoint="client_1"))
    verdict.expect(f"{name} passes on: the node sees the client's certificate",
                   (said.get("kind"), said.get("name")) == ("certificate", "admin"), str(said))
    verdict.expect(f"{name} passes on: the node sees the front's address", str(said.get("address", "")).startswith(f"{SOURCE}:"), str(said))
    said = ctl("status")
    reached = {node.get("endpoint") for node in json.loads(said).get("nodes", []) if node.get("reachable")}
    fronts = {front.at("any"), *(front.at(f"client_{node}") for node in NODES)}
    verdict.expect(f"{name} passes on: one address leads to all nodes, each at its front", len(reached) == 3 and reached <= fronts,
                   f"{reached} {fronts}")
    tokens = [ctl("lock", "acquire", f"fronts/{name}/{k}", "--ttl", "10m") for k in range(12)]
    verdict.expect(f"{name} passes on: locks of many shards are acquired", all('"token"' in each for each in tokens), str(tokens))
    for user, number in (("stranger", "GC6737"), ("revoked", "GC6736"), ("expired", "GC6735")):
        said = ctl("whoami", user=user)
        verdict.expect(f"{name} passes on: '{user}' hears {number} from the node", number in said, said)


def check_restart(front: Front, cluster: Cluster, verdict) -> None:
    """A client whose front goes away for a moment keeps its lock."""
    held, go, what = cluster.lab.directory / f"{front.name}.held", cluster.lab.directory / f"{front.name}.go", f"restart/{front.name}"
    words = cluster.ctl_words("--endpoints", front.at("any"), "lock", "run", what, "--ttl", f"{HELD_S}s", "--", "sh", "-c",
                              f"touch {held}; while [ ! -e {go} ]; do sleep 0.05; done")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as holder:
        try:
            wait_for("the lock", held.exists, HELD_S)
            before = cluster.ctl("lock", "get", what)
            front.end()
            front.start()
            after = cluster.ctl("lock", "get", what)
            verdict.expect(f"{front.name} starts again: the lock is held as before",
                           bool(before.get("token")) and before.get("token") == after.get("token"), f"{before} {after}")
        finally:
            go.touch()
            said = holder.communicate(timeout=HELD_S)[0]
    verdict.expect(f"{front.name} starts again: the holder ends well", holder.returncode == 0, said)
    freed = cluster.ctl("lock", "get", what)
    verdict.expect(f"{front.name} starts again: the holder has released", not freed.get("token"), str(freed))


def check_proxy_protocol(front: Front, cluster: Cluster, verdict) -> None:
    """A node takes a PROXY line for plain text, and refuses it."""
    for port, number in (("proxied", "GC3109"), ("proxied_permissive", "GC3109"),
                         *((("proxied_v2", "GC3109"),) if front.name == "haproxy" else ())):
        done = cluster.ctl_raw("--endpoints", front.at(port), "--timeout", "30s", "whoami")
        said = done.stdout + done.stderr
        verdict.expect(f"{front.name}, {port}: refused with {number}", done.returncode != 0 and number in said, said)
    status, said = front.page("proxied_pages", "/livez")
    verdict.expect(f"{front.name}, proxied_pages: no page", status == 0, said)


# ---- TLS on both sides --------------------------------------------------------------------------------------------------

def bearer_of(cluster: Cluster, user: str) -> str:
    """A token by the password of the user, who has the role "lookers"."""
    word, token = cluster.lab.directory / f"{user}.pw", cluster.lab.directory / f"{user}.token"
    if not token.exists():
        word.write_text(f"the word of {user}\n", encoding="utf-8")
        word.chmod(0o600)
        cluster.must("user", "add", user, "--role", "lookers", "--password-file", str(word))
        done = cluster.ctl_raw("--endpoints", cluster.endpoints(), "--cacert", str(cluster.lab.path("ca.crt")), "--user", user,
                               "--password-file", str(word), "auth", "login", "--out", str(token), user="")
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
    return f"Bearer {token.read_text(encoding='utf-8').strip()}"


def check_refused_fronts(front: Front, verdict) -> None:
    name = front.name
    # What any front says that reaches no node: so each has a control beside it, which differs in the one thing alone.
    broken = 503 if name == "haproxy" else 502
    for port, page, status, what in (("bare", "/metrics", 401, "a front without a certificate is nobody to the node"),
                                     ("right_ca", "/livez", 200, "a front that believes the nodes' CA takes the node"),
                                     ("other_ca", "/livez", broken, "a front that believes another CA refuses the node"),
                                     ("new", "/livez", 200, "a front with TLS 1.3 is taken by the node"),
                                     ("old", "/livez", broken, "a front with TLS 1.2 is refused by the node")):
        seen = front.page(port, page)
        verdict.expect(f"{name}: {what} ({status})", seen[0] == status, str(seen))
    seen = front.page("pages", "/livez", user="")
    verdict.expect(f"{name}: who shows no certificate to the front gets nothing from the node", seen[0] in (0, 400), str(seen))
    seen = front.page("pages", "/livez", user="revoked")
    verdict.expect(f"{name}: who shows a revoked one gets nothing from the node", seen[0] in (0, 400), str(seen))


def handshakes(front: Front) -> float:
    """Of the node's HTTP ports so far, as its metrics say."""
    lines = front.page("pages", "/metrics")[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("gcoord_server_http_tls_handshakes_total"))


def check_identity(front: Front, cluster: Cluster, verdict) -> None:
    """The node sees the front, whoever is behind it, unless the request brings a token."""
    name = front.name

    def expect(what: str, status: int, *words: str, port: str = "pages", **how) -> None:
        seen = front.page(port, *words, **how)
        verdict.expect(f"{name}: {what} ({status})", seen[0] == status, f"{seen[0]} {seen[1][:200]}")

    expect("/livez is for everybody", 200, "/livez")
    expect("the front may read metrics, so who comes through it may", 200, "/metrics")
    expect("the front may read the ledger", 200, "/shards", port="ledger")
    expect("the front may not see /debug/build", 403, "/debug/build")
    expect("nor may the administrator through the front: the node sees the front", 403, "/debug/build", user="admin")
    expect("headers that name the administrator change nothing", 403, "/debug/build", **FORGED)
    token = bearer_of(cluster, "looker")
    before = handshakes(front)
    for turn in (1, 2):  # The second time on connections that have carried the token.
        expect(f"a token goes before the front's certificate, and its user may see it, turn {turn}", 200, "/debug/build",
               Authorization=token)
        expect(f"a token of a user without the right is refused, turn {turn}", 403, "/metrics", Authorization=token)
        expect(f"the next request without a token is the front's again, turn {turn}", 403, "/debug/build")
        expect(f"and may what the front may, turn {turn}", 200, "/metrics")
    if name == "nginx":  # haproxy looks at /readyz all the time.
        grown = handshakes(front) - before
        verdict.expect("nginx: these requests of many clients went over few connections to the node", grown <= 3, f"{grown} handshakes")
    expect("a token that is none is refused, and does not fall back to the front", 401, "/metrics", Authorization="Bearer none")


def check_before_rights(front: Front, verdict) -> None:
    """The user of the front's certificate does not exist yet."""
    seen = front.page("pages", "/metrics")
    verdict.expect(f"{front.name}: the front's certificate alone is no right (403)", seen[0] == 403, str(seen))


# ---- ends ---------------------------------------------------------------------------------------------------------------

def states(lab: Lab) -> dict:
    """Of the servers behind "any", as haproxy says by its socket: {"node-1": "UP", ...}; empty while there is no socket."""
    with socket.socket(socket.AF_UNIX) as plain:
        try:
            plain.connect(str(lab.directory / "haproxy.sock"))
        except OSError:
            return {}
        plain.sendall(b"show stat\n")
        text = b"".join(iter(lambda: plain.recv(1 << 14), b"")).decode()
    rows = [line.split(",") for line in text.splitlines()]
    return {row[1]: row[17] for row in rows if row[0] == "any" and row[1].startswith("node")}


def check_health(front: Front, cluster: Cluster, verdict) -> None:
    """haproxy sees by /readyz which nodes are ready, and sends clients to these."""
    cluster.processes[1].terminate()
    cluster.processes[1].wait(timeout=60)
    wait_for("node 2 that is down", lambda: states(cluster.lab).get("node-2") == "DOWN", CLIENT_S)
    verdict.expect("haproxy finds by /readyz that a node is gone, and the others are ready",
                   states(cluster.lab) == {"node-1": "UP", "node-2": "DOWN", "node-3": "UP"}, str(states(cluster.lab)))
    for k in range(4):
        done = cluster.ctl_raw("--endpoints", front.at("any"), "--timeout", "30s", "lock", "acquire", f"after/{k}", "--ttl", "10m")
        verdict.expect(f"clients are served through the front by those that remain, {k}", done.returncode == 0,
                       done.stdout + done.stderr)
    done = cluster.ctl_raw("--endpoints", f"{front.at('client_2')},{front.at('client_1')}", "--timeout", "30s", "whoami")
    verdict.expect("a client goes on to the next endpoint where a front has no node behind it", done.returncode == 0,
                   done.stdout + done.stderr)


def check_revoked_front(front: Front, cluster: Cluster, verdict) -> None:
    """The front keeps a connection open; a new list ends it."""
    lab = cluster.lab
    lab.must("cert", "revoke", str(lab.path("front.crt")), "--dir", str(lab.path("ca")))
    lab.path("ca.crl").write_bytes(lab.path("ca/ca.crl").read_bytes())
    wait_for("the end of a revoked front", lambda: front.page("pages", "/metrics")[0] in (502, 503), CLIENT_S)
    verdict.expect(f"{front.name}: a front whose certificate is revoked gets no page any more", True)


def prepare(lab: Lab, ports: dict) -> None:
    for node in NODES:
        lab.configure(node, advertise_client=f"127.0.0.1:{ports[f'client_{node}']}",
                      **({"client_tls": "permissive"} if node == 3 else {}))
    for user in ("front", "scraper"):
        lab.must("cert", "issue", "user", user, "--dir", str(lab.path("ca")), "--out", str(lab.path(user)))
    lab.sign("door", "DNS:localhost,IP:127.0.0.1", "serverAuth")
    for name in ("front", "door"):  # haproxy wants both in one file.
        both = lab.path(f"{name}.pem")
        both.write_bytes(lab.path(f"{name}.crt").read_bytes() + lab.path(f"{name}.key").read_bytes())
        both.chmod(0o600)


def judge(programs: Path, verdict) -> None:
    verdict.programs = {"haproxy": version_in(r"version (\S+)", "haproxy", "-v"), "nginx": version_in(r"nginx/(\S+)", "nginx", "-v")}
    ports = dict(zip(PORTS, free_ports(len(PORTS))))

    def checks(lab: Lab, cluster: Cluster) -> None:
        fronts = [Front(name, lab, ports) for name in ("haproxy", "nginx")]
        cluster.check_rights()
        try:
            for front in fronts:
                front.start()
                check_passed_on(front, cluster, verdict)
                check_restart(front, cluster, verdict)
                check_proxy_protocol(front, cluster, verdict)
                check_refused_fronts(front, verdict)
                if front is fronts[0]:
                    check_before_rights(front, verdict)
                    cluster.must("role", "add", "pages", "metrics.read", "ledger.read")
                    cluster.must("role", "add", "lookers", "cluster.read")
                    cluster.must("user", "add", "front", "--role", "pages", "--no-password")
                check_identity(front, cluster, verdict)
                if front is fronts[-1]:
                    check_revoked_front(front, cluster, verdict)
                front.end()
            fronts[0].start()
            check_health(fronts[0], cluster, verdict)
        finally:
            for front in fronts:
                front.end()

    with_nodes(programs, checks, lambda lab: prepare(lab, ports))
