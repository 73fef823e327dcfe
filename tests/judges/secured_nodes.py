"""Three nodes of `gcoordctl cluster init --with-tls`, and the certificates of clients that must be refused."""

import json
import random
import socket
import subprocess
import tempfile
from pathlib import Path

from three_nodes import wait_for

NODES = (1, 2, 3)
# Ports of a kind are three in a row, and the kinds lie 100 apart.
KINDS = {"client": 0, "peer": 100, "metrics": 200, "ledger": 300}
PASSING = ("GC3001", "GC5002", "GC6518")  # Not served yet: nodes start, or have no leader.


def first_port() -> int:
    """Below the ports that the kernel gives to those who name none."""
    wanted = [offset + k for offset in KINDS.values() for k in range(len(NODES))]
    for _ in range(100):
        base = random.randrange(15_000, 32_000)
        try:
            for each in wanted:
                socket.create_server(("127.0.0.1", base + each)).close()
        except OSError:
            continue
        return base
    raise RuntimeError("no free ports")


class Lab:
    """The files of the cluster; `expired`, `revoked` and `stranger` are users whom no node may take."""

    def __init__(self, programs: Path, directory: Path):
        self.programs = programs
        self.directory = directory
        self.port = first_port()
        self.must("cluster", "init", "--with-tls", "--dir", str(directory / "made"), "--client-port", str(self.port), "--shards", "16")
        self.cluster_id = next(line.split('"')[1] for line in self.path("node-1.toml").read_text(encoding="utf-8").splitlines()
                               if line.startswith("cluster_id"))
        authority = str(self.path("ca"))
        for name in ("revoked", "expired"):
            self.must("cert", "issue", "user", name, "--dir", authority, "--out", str(self.path(name)))
        self.must("cert", "revoke", str(self.path("revoked.crt")), "--dir", authority)
        self.path("ca.crl").write_bytes(self.path("ca/ca.crl").read_bytes())
        other = directory / "other"
        self.must("cert", "ca", "--dir", str(other), "--cluster-id", self.cluster_id)
        self.must("cert", "issue", "user", "stranger", "--dir", str(other), "--out", str(self.path("stranger")))
        self.path("other.crt").write_bytes((other / "ca.crt").read_bytes())
        self.expire("expired")

    def expire(self, name: str) -> None:
        """Signs the user's key again, for a day that is over: gcoordctl makes no such certificate."""
        self.sign(name, f"URI:gcoord://{self.cluster_id}/user/{name}", dates=("20200101000000Z", "20200102000000Z"))

    def sign(self, name: str, names: str, use: str = "clientAuth", dates: tuple = (), authority: str = "made/ca") -> None:
        """A certificate that gcoordctl does not make, by openssl: of the key NAME.key, with these alternative names."""
        request, config, index = (self.directory / f"sign.{suffix}" for suffix in ("csr", "cnf", "txt"))
        key, certificate, ca = self.path(f"{name}.key"), self.path(f"{name}.crt"), self.directory / authority
        if not key.exists():
            self.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key))
            key.chmod(0o600)
        self.run("openssl", "req", "-new", "-key", str(key), "-subj", f"/CN={name}", "-out", str(request))
        index.write_text("", encoding="utf-8")
        config.write_text("[ca]\ndefault_ca = lab\n[lab]\n"
                          f"database = {index}\nnew_certs_dir = {self.directory}\nrand_serial = yes\n"
                          "default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n"
                          f"[leaf]\nbasicConstraints = critical, CA:FALSE\nextendedKeyUsage = {use}\n"
                          f"keyUsage = critical, digitalSignature\nsubjectAltName = {names}\n", encoding="utf-8")
        certificate.unlink(missing_ok=True)
        when = ["-startdate", dates[0], "-enddate", dates[1]] if dates else ["-days", "2"]
        self.run("openssl", "ca", "-batch", "-config", str(config), "-extensions", "leaf", "-cert", str(ca / "ca.crt"),
                 "-keyfile", str(ca / "ca.key"), "-in", str(request), "-out", str(certificate), "-notext", *when)

    def configure(self, node: int, **options) -> None:
        """Adds options to the node's file, before it starts; a value is a text."""
        with self.path(f"node-{node}.toml").open("a", encoding="utf-8") as out:
            out.writelines(f'{option} = "{value}"\n' for option, value in options.items())

    def path(self, name: str) -> Path:
        return self.directory / "made" / name

    def files_of(self, user: str) -> list:
        return ["--cacert", str(self.path("ca.crt")), "--cert", str(self.path(f"{user}.crt")), "--key", str(self.path(f"{user}.key"))]

    def port_of(self, kind: str, node: int) -> int:
        return self.port + KINDS[kind] + node - 1

    def run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")

    def must(self, *words: str) -> None:
        self.run(str(self.programs / "gcoordctl"), *words)


class Cluster:
    def __init__(self, lab: Lab):
        self.lab = lab
        self.client, self.peer, self.metrics, self.ledger = (
            {node: lab.port_of(kind, node) for node in NODES} for kind in KINDS)
        self.processes = [subprocess.Popen([str(lab.programs / "gcoordd"), "--config", str(lab.path(f"node-{node}.toml")),
                                            "--log-level", "error"], stdout=subprocess.DEVNULL) for node in NODES]

    def ports_of(self, node: int) -> tuple:
        return self.client[node], self.peer[node], self.metrics[node], self.ledger[node]

    def ports(self) -> list:
        """(port, kind), of all nodes."""
        return [(port, kind) for node in NODES for port, kind in zip(self.ports_of(node), KINDS)]

    def ctl_words(self, *words: str, user: str = "admin") -> list:
        """The command of a user with a certificate; without a user it has no file of TLS."""
        return [str(self.lab.programs / "gcoordctl"), "-o", "json", *(self.lab.files_of(user) if user else []), *words]

    def ctl_raw(self, *words: str, user: str = "admin") -> subprocess.CompletedProcess:
        return subprocess.run(self.ctl_words(*words, user=user), capture_output=True, text=True, check=False)

    def ctl(self, *words: str) -> dict:
        return json.loads(self.ctl_raw("--endpoints", self.endpoints(), *words).stdout or "{}")

    def endpoints(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.client.values())

    def must(self, *words: str) -> dict:
        """An order of the administrator; nodes may need a moment to agree on what it needs."""
        done = None

        def holds() -> bool:
            nonlocal done
            done = self.ctl_raw("--endpoints", self.endpoints(), "--timeout", "60s", *words)
            return done.returncode == 0 or not any(number in done.stdout + done.stderr for number in PASSING)

        wait_for(" ".join(words), holds, 60)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout or "{}")

    def check_rights(self) -> None:
        """From now on admin.crt is the administrator, and others have no rights."""
        self.must("user", "add", "admin", "--role", "root", "--no-password")
        self.must("auth", "enable")

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=60)


def with_nodes(programs: Path, checks, prepare=None) -> None:
    """prepare(lab) may change the files of the nodes before they start; checks(lab, cluster) follows once all serve."""
    with tempfile.TemporaryDirectory() as directory:
        lab = Lab(programs, Path(directory))
        if prepare is not None:
            prepare(lab)
        cluster = Cluster(lab)
        try:
            wait_for("the cluster", lambda: len(cluster.ctl("status").get("nodes", [])) == len(NODES), 60)
            checks(lab, cluster)
        finally:
            cluster.end()
