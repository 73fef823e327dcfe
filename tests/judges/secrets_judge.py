#!/usr/bin/env python3
"""Three real nodes with TLS, proofs and rights do all that secrets are for; then every place is searched for these secrets.

Usage: secrets_judge.py --bin DIR [--short]     (also `./gcoord judge secrets`)

--short leaves out what takes longest: the bundle and the image of a node's memory.
"""

import argparse
import base64
import http.client
import json
import os
import random
import resource
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

SUMMARY = "passwords, tokens and keys used on three real nodes are in no log, page, bundle, trace, environment or foreign file"
NODES = (1, 2, 3)
PATIENCE_S = 60


def first_port() -> int:
    """From which on three ports are free, and three 100, 200 and 300 above them."""
    for _ in range(200):
        port = random.randrange(12000, 31000)
        try:
            for above in (0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302):
                with socket.create_server(("127.0.0.1", port + above)):
                    pass
            return port
        except OSError:
            continue
    raise RuntimeError("no free ports")


def key_lines(pem: Path) -> list:
    """The lines of a private key that say something of it: the first ones are the same in all."""
    lines = [line for line in pem.read_text(encoding="ascii").splitlines() if not line.startswith("-----")]
    return [line.encode() for line in lines[1:] if len(line) >= 32]


class Trial:
    def __init__(self, binaries: Path, folder: Path, short: bool, verdict):
        self.bin, self.folder, self.short, self.verdict = binaries, folder, short, verdict
        self.made = folder / "made"
        self.processes = {}
        self.needles = {}  # What it is: the bytes that would show it.
        self.password = secrets.token_urlsafe(24)
        self.typed = secrets.token_urlsafe(24)

    # ---- the cluster ----

    def ctl_words(self, *words, who="admin") -> list:
        endpoints = ",".join(f"127.0.0.1:{self.port + node - 1}" for node in NODES)
        identity = {"admin": ["--cert", f"{self.made}/admin.crt", "--key", f"{self.made}/admin.key"],
                    "bob": ["--user", "bob", "--password-file", f"{self.folder}/bob.pw"],
                    "token": ["--token-file", f"{self.folder}/bob.token"]}.get(who, [])
        return [str(self.bin / "gcoordctl"), "--endpoints", endpoints, "-o", "json", "--timeout", "30s", "--cacert",
                f"{self.made}/ca.crt", *identity, *map(str, words)]

    def ctl(self, *words, who="admin", code=0) -> dict:
        end = time.monotonic() + PATIENCE_S
        while True:
            done = subprocess.run(self.ctl_words(*words, who=who), capture_output=True, text=True, check=False)
            not_ready = any(number in done.stdout + done.stderr for number in ("GC6518", "GC3001"))
            if not not_ready or time.monotonic() >= end:
                break
        self.said(f"gcoordctl {words[0]}", done.stdout + done.stderr)
        self.verdict.expect(f"{' '.join(map(str, words[:3]))} ends with {code}", done.returncode == code,
                            done.stdout + done.stderr)
        lines = done.stdout.strip().splitlines()
        return json.loads(lines[0]) if lines and lines[0].startswith("{") else {}

    def said(self, who: str, text: str) -> None:
        with (self.folder / "said.txt").open("a", encoding="utf-8") as out:
            out.write(f"{who}: {text}\n")

    def start(self, node: int) -> subprocess.Popen:
        log = (self.folder / f"node-{node}.log").open("ab")
        environment = dict(os.environ, GCOORD_LOG_LEVEL="debug", GCOORD_TRACE=str(self.folder / f"node-{node}.trace"))
        return subprocess.Popen([str(self.bin / "gcoordd"), "--config", str(self.made / f"node-{node}.toml")], stdout=log,
                                stderr=log, env=environment, cwd=self.folder)

    def open(self) -> None:
        self.port = first_port()
        subprocess.run([str(self.bin / "gcoordctl"), "cluster", "init", "--with-tls", "--dir", str(self.made), "--client-port",
                        str(self.port), "--shards", "8"], check=True, capture_output=True)
        for node in NODES:
            self.processes[node] = self.start(node)

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    # ---- what secrets are for ----

    def write_secret(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text + "\n", encoding="utf-8")
        path.chmod(0o600)

    def use_everything(self) -> None:
        self.write_secret("bob.pw", self.password)
        self.ctl("user", "add", "admin", "--role", "root", "--no-password")
        self.ctl("auth", "enable")
        self.ctl("role", "add", "jobs", "read", "write", "details", "--prefix", "jobs/")
        self.ctl("role", "grant", "jobs", "metrics.read")
        self.ctl("user", "add", "bob", "--role", "jobs", "--password-file", self.folder / "bob.pw")
        self.write_secret("typed.pw", self.typed)
        self.ctl("user", "add", "typed", "--role", "jobs", "--password-file", self.folder / "typed.pw")
        self.ctl("auth", "login", "--out", self.folder / "bob.token", who="bob")
        self.ctl("--session-key-file", self.folder / "session.key", "session", "open", "--ttl", "10m", who="token")
        self.ctl("lock", "acquire", "jobs/a", "--ttl", "60s", who="bob")
        self.ctl("lock", "break", "jobs/a", "--reason", "none", who="bob", code=4)
        done = subprocess.run(self.ctl_words("lock", "ls", "--user", "bob:wrong-" + self.typed, who=""), capture_output=True,
                              text=True, check=False)
        self.verdict.expect("a wrong password ends with 4", done.returncode == 4, done.stdout + done.stderr)
        self.said("gcoordctl", done.stdout + done.stderr)
        self.needles = {"the password": [self.password.encode()], "the typed password": [self.typed.encode()],
                        "the token": [(self.folder / "bob.token").read_text().strip().encode()]}
        key = (self.folder / "session.key").read_text().strip().split(":")[-1]
        self.needles["the key of a session"] = [key.encode(), bytes.fromhex(key)]
        word = (self.made / "cluster.secret").read_text().splitlines()[1].split()[1]
        self.needles["the cluster's secret"] = [word.encode(), base64.b64decode(word)]
        for path in [*self.made.glob("*.key"), *self.made.glob("ca/*.key")]:
            self.needles[f"the key {path.name}"] = key_lines(path)
        for node in NODES:
            for path in (self.made / f"node-{node}").rglob("ledger.key"):
                text = path.read_text(encoding="utf-8").strip()
                self.needles[f"the ledger's key of node {node}"] = [text.encode(), text.split("+", 4)[-1].encode()]

    # ---- where they may not be ----

    def expect_clean(self, where: str, data: bytes, but=()) -> None:
        found = [name for name, needles in self.needles.items()
                 if name not in but and any(needle in data for needle in needles)]
        self.verdict.expect(f"no secret is in {where}", not found, ", ".join(found))

    def get(self, port: int, page: str, admin: bool = False, bearer: str = "") -> tuple:
        """The status of a page and its text."""
        context = ssl.create_default_context(cafile=str(self.made / "ca.crt"))
        if admin:
            context.load_cert_chain(self.made / "admin.crt", self.made / "admin.key")
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE_S)
        connection.request("GET", page, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def read_pages(self) -> None:
        for node in NODES:
            for port, pages in ((200, ("/metrics", "/debug/config", "/debug/log", "/debug/build", "/livez?verbose",
                                       "/readyz?verbose")), (300, ("/checkpoint", "/key"))):
                for page in pages:
                    status, body = self.get(self.port + port + node - 1, page, admin=True)
                    self.verdict.expect(f"{page} of node {node} is there", status in (200, 404), str(status))
                    self.expect_clean(f"{page} of node {node}", body)

    def ask_pages(self) -> None:
        """Who may have which page."""
        token = (self.folder / "bob.token").read_text().strip()
        for wanted, port, page, who in ((200, 200, "/livez", {}), (200, 200, "/readyz", {}), (401, 200, "/metrics", {}),
                                        (401, 200, "/no/such/page", {}), (200, 200, "/metrics", {"bearer": token}),
                                        (200, 200, "/metrics", {"admin": True}), (403, 200, "/debug/profile", {"bearer": token}),
                                        (200, 200, "/debug/config", {"admin": True}), (401, 300, "/tile/0/000", {}),
                                        (403, 300, "/shard/0/tile/0/000", {"bearer": token}), (200, 300, "/key", {}),
                                        (401, 200, "/metrics", {"bearer": "none"})):
            got, body = self.get(self.port + port, page, **who)
            self.verdict.expect(f"{page} {'with ' + next(iter(who)) if who else 'as nobody'} is {wanted}", got == wanted,
                                f"{got} {body[:200]}")

    def search_processes(self) -> None:
        environment = dict(os.environ, GCOORD_USER=f"typed:{self.typed}")
        held = self.folder / "held"
        words = self.ctl_words("lock", "run", "jobs/run", "--ttl", "30s", "--", "sh", "-c",
                               f"env > {held}.part; tr '\\0' '\\n' < /proc/$PPID/environ >> {held}.part; mv {held}.part {held}; "
                               "sleep 600", who="")
        by_variable = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        words = self.ctl_words("lock", "run", "jobs/run2", "--ttl", "30s", "--user", f"typed:{self.typed}", "--", "sh", "-c",
                               f"touch {held}2; sleep 600", who="")
        by_word = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while not (held.exists() and Path(f"{held}2").exists()) and time.monotonic() < end:
            time.sleep(0.05)
        self.verdict.expect("commands run under a lock", held.exists() and Path(f"{held}2").exists())
        if held.exists():
            self.expect_clean("the environment of a command and its guard", held.read_bytes())
            self.verdict.expect("the command knows the user", b"GCOORD_USER=typed\n" in held.read_bytes())
        watched = {**{f"node {node}": process.pid for node, process in self.processes.items()},
                   "gcoordctl with a variable": by_variable.pid, "gcoordctl with an option": by_word.pid}
        for who, pid in watched.items():
            for page in ("cmdline", "environ"):
                try:
                    data = Path(f"/proc/{pid}/{page}").read_bytes()
                except PermissionError:
                    data = b""  # Nobody but root may read it.
                self.expect_clean(f"{page} of {who}", data)
        for process in (by_variable, by_word):
            process.send_signal(signal.SIGTERM)
            process.wait()

    def search_files(self) -> None:
        """Of the folder: logs, traces, data directories, and what was said. Few files may have secrets, and are 0600."""
        allowed = {self.folder / name for name in ("bob.pw", "typed.pw", "bob.token", "session.key")}
        allowed |= {self.made / "cluster.secret", *self.made.rglob("*.key")}
        for path in sorted(self.folder.rglob("*")):
            if not path.is_file() or path.is_symlink():
                continue
            data = path.read_bytes()
            found = [name for name, needles in self.needles.items() if any(needle in data for needle in needles)]
            if path in allowed or (path.name == "cluster.secret" and path.parent.parent == self.made):
                mode = path.stat().st_mode & 0o777
                self.verdict.expect(f"{path.name} is its owner's alone", mode & 0o077 == 0, oct(mode))
            else:
                self.verdict.expect(f"no secret is in {path.relative_to(self.folder)}", not found, ", ".join(found))

    def expect_refused(self, what: str, words: list, code: str) -> None:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            ends = threading.Timer(PATIENCE_S, process.kill)  # A node that starts does not end by itself.
            ends.start()
            said = ""
            for line in process.stdout:
                said += line
                if "serving cluster" in line:
                    process.kill()
            process.wait()
            ends.cancel()
        self.verdict.expect(what, process.returncode > 0 and code in said, said)

    def refuse_open_files(self) -> None:
        """Files that others may read, and links, are refused by whoever reads secrets."""
        def expect(what, words, path, code):
            for how in ("open to others", "a link"):
                aside = path.with_name(path.name + ".aside")
                if how == "a link":
                    path.rename(aside)
                    path.symlink_to(aside)
                else:
                    path.chmod(0o644)
                self.expect_refused(f"{what} that is {how} is refused", words, code)
                if how == "a link":
                    path.unlink()
                    aside.rename(path)
                path.chmod(0o600)
        expect("a password", self.ctl_words("lock", "ls", who="bob"), self.folder / "bob.pw", "GC6544")
        expect("a token", self.ctl_words("lock", "ls", who="token"), self.folder / "bob.token", "GC6544")
        expect("a session's key", self.ctl_words("--session-key-file", self.folder / "session.key", "session", "close", "1",
                                                 who="token"), self.folder / "session.key", "GC6544")
        node = self.processes.pop(3)
        node.send_signal(signal.SIGTERM)
        node.wait()
        config = [str(self.bin / "gcoordd"), "--config", str(self.made / "node-3.toml")]
        expect("the cluster's secret", config, self.made / "cluster.secret", "GC3120")
        for what, path, code in (("a certificate's key", self.made / "node-3.key", "GC1233"),
                                 ("the ledger's key", self.made / "node-3" / "publication" / "ledger.key", "GC3120")):
            path.chmod(0o644)
            self.expect_refused(f"{what} that is open to others is refused", config, code)
            path.chmod(0o600)
        self.processes[3] = self.start(3)

    def search_bundle(self) -> None:
        out = self.folder / "bundle.tar.gz"
        done = subprocess.run(self.ctl_words("debug", "bundle", "--out", out, "--seconds", "1"), capture_output=True, text=True,
                              check=False)
        self.verdict.expect("the bundle is made", out.exists(), done.stdout + done.stderr)
        names = []
        with tarfile.open(out) as archive:
            for member in archive:
                if member.isfile():
                    names.append(member.name)
                    self.expect_clean(f"{member.name} of the bundle", archive.extractfile(member).read())
        self.verdict.figures.append(f"a bundle of {len(names)} files")
        self.verdict.expect("the bundle has metrics and configurations",
                            any("metrics" in name for name in names) and any("config" in name for name in names), str(names))

    def search_memory(self) -> None:
        if shutil.which("gcore") is None:
            self.verdict.figures.append("no image of a node's memory: gdb is not here")
            return
        image = self.folder.parent / (self.folder.name + ".image")
        done = subprocess.run(["gcore", "-o", str(image), str(self.processes[1].pid)], capture_output=True, text=True, check=False)
        files = list(image.parent.glob(image.name + ".*"))
        self.verdict.programs["gdb"] = subprocess.run(["gdb", "--version"], capture_output=True, text=True,
                                                      check=False).stdout.splitlines()[0].split()[-1]
        if not files:
            self.verdict.figures.append("no image of a node's memory: " + (done.stdout + done.stderr).strip()[:200])
            return
        data = files[0].read_bytes()
        files[0].unlink()
        self.verdict.figures.append(f"an image of a node's memory, {len(data) >> 20} MiB")
        # Control: the image has what a node must remember.
        secret = self.needles["the cluster's secret"][1]
        self.verdict.expect("the image is one of the node", secret in data)
        for name in ("the password", "the typed password"):
            self.verdict.expect(f"{name} is not in a node's memory", not any(n in data for n in self.needles[name]))

    def expect_no_core(self) -> None:
        pattern = Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip()
        if pattern.startswith("|"):
            return

        def core_of(words) -> bool:
            process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 40, 1 << 40)))
            if words[0].endswith("gcoordd"):
                end = time.monotonic() + PATIENCE_S
                while time.monotonic() < end and b"core files" not in (self.folder / "core.log").read_bytes():
                    time.sleep(0.05)
            else:
                time.sleep(0.3)
            process.send_signal(signal.SIGSEGV)
            _, status = os.waitpid(process.pid, 0)
            process.returncode = -1
            return os.WCOREDUMP(status)

        try:
            control = core_of(["sleep", "100"])
        except (ValueError, subprocess.SubprocessError):
            return  # The limit is not ours to raise.
        self.processes.pop(3).kill()
        (self.folder / "core.log").write_bytes(b"")
        core = core_of([str(self.bin / "gcoordd"), "--config", str(self.made / "node-3.toml"), "--log-file",
                        str(self.folder / "core.log")])
        if control:
            self.verdict.expect("a node with keys leaves no core file", not core)
        for path in self.folder.glob("core*"):
            if path.name != "core.log":
                path.unlink()

    def judge(self) -> None:
        self.open()
        try:
            self.use_everything()
            self.ask_pages()
            self.read_pages()
            self.search_processes()
            self.refuse_open_files()
            if not self.short:
                self.search_bundle()
                self.search_memory()
                self.expect_no_core()
        finally:
            self.close()
        self.search_files()


def judge(binaries: Path, verdict, short: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Trial(binaries, Path(folder), short, verdict).judge()


def judge_short(binaries: Path, verdict) -> None:
    judge(binaries, verdict, short=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from judge import Verdict  # pylint: disable=import-outside-toplevel
    verdict = Verdict("secrets")
    judge(options.bin.resolve(), verdict, options.short)
    print(f"secrets: {len(verdict.passed)} passed, {len(verdict.failed)} failed")
    return 1 if verdict.failed else 0


if __name__ == "__main__":
    sys.exit(main())
