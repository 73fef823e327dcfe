"""The same story of users, roles and refusals by etcdctl and by gcoordctl, with the same certificates, step by step."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

from secured_nodes import Cluster, Lab, with_nodes
from three_nodes import free_ports, wait_for
from tls_clients import CLIENT_S, ForeignProgram, version_in

SUMMARY = "etcdctl user, role and auth beside gcoordctl's: one story, the same certificates and passwords, the same verdicts"
DONE, REFUSED = "done", "refused"
# In etcd's words: a right or a login is missing, or the order would end all administration.
ETCD_REFUSES = re.compile(r"permission denied|authentication failed|user name is empty|invalid auth (management|token)|user name not found")
OURS_KEEP = ("GC6514", "GC6515", "GC6516")  # Orders about rights that would lock everybody out, or somebody unproven gives.


@dataclass
class Step:
    """Words with {} in them are files or ports of a side. Who: a certificate's name, or user:password with that of nobody."""
    what: str
    who: str
    etcd: str
    ours: str
    expected: str = DONE
    expected_of_etcd: str = ""  # Where it differs; the reason is in `why`.
    why: str = ""


def write(what: str, who: str, name: str, expected: str = DONE) -> Step:
    return Step(what, who, f"put {name} x", f"lock acquire {name} --ttl 10m", expected)


def read(what: str, who: str, name: str, expected: str = DONE) -> Step:
    return Step(what, who, f"get {name}", f"lock get {name}", expected)


STORY = (
    Step("make the administrator's role", "root", "role add root", "role list"),
    Step("add the administrator, known by a certificate", "root", "user add root --no-password", "user add root --no-password"),
    Step("give it the role root", "root", "user grant-role root root", "user grant root root"),
    Step("add a user, known by a certificate", "root", "user add alice --no-password", "user add alice --no-password"),
    Step("add a user with a password", "root", "user add bob:first-word", "user add bob --password-file {bob}"),
    Step("add a role", "root", "role add jobs", "role add jobs"),
    Step("let it read and write a prefix", "root", "role grant-permission jobs readwrite --prefix jobs/",
         "role grant jobs read write --prefix jobs/"),
    Step("add a role that reads", "root", "role add readers", "role add readers"),
    Step("let it read the prefix", "root", "role grant-permission readers read --prefix jobs/", "role grant readers read --prefix jobs/"),
    Step("give the first role", "root", "user grant-role alice jobs", "user grant alice jobs"),
    Step("give the second role", "root", "user grant-role bob readers", "user grant bob readers"),
    write("before rights are checked, anybody writes", "nobody", "jobs/before"),
    write("and also elsewhere", "nobody", "jobless/secret"),
    Step("check rights from now on", "root", "auth enable", "auth enable"),
    write("a certificate without a user writes", "nobody", "jobs/nobody", REFUSED),
    write("the user writes below the prefix", "alice", "jobs/alice"),
    write("the user writes elsewhere", "alice", "other/alice", REFUSED),
    write("the user writes the prefix without its slash", "alice", "jobs", REFUSED),
    read("the user reads below the prefix", "alice", "jobs/before"),
    read("the user reads elsewhere", "alice", "jobless/secret", REFUSED),
    Step("the user lists the prefix", "alice", "get --prefix jobs/", "lock list jobs/"),
    Step("the user lists a shorter prefix", "alice", "get --prefix job", "lock list job", DONE, REFUSED,
         "gcoord lists what the user may see of it"),
    read("by password: the reader reads", "bob:first-word", "jobs/before"),
    write("by password: the reader writes", "bob:first-word", "jobs/bob", REFUSED),
    read("by a wrong password", "bob:wrong-word", "jobs/before", REFUSED),
    Step("the user adds a user", "alice", "user add eve --no-password", "user add eve --no-password", REFUSED),
    Step("the user gives itself the role root", "alice", "user grant-role alice root", "user grant alice root", REFUSED),
    Step("the user lists users", "alice", "user list", "user list", REFUSED),
    Step("the user ends the checks", "alice", "auth disable", "auth disable", REFUSED),
    Step("take the role away", "root", "user revoke-role alice jobs", "user revoke alice jobs"),
    write("the user writes without it", "alice", "jobs/alice-2", REFUSED),
    Step("give it again", "root", "user grant-role alice jobs", "user grant alice jobs"),
    write("the user writes again", "alice", "jobs/alice-3"),
    Step("take the prefix from the role", "root", "role revoke-permission jobs --prefix jobs/",
         "role revoke jobs read write --prefix jobs/"),
    write("the user writes with the empty role", "alice", "jobs/alice-4", REFUSED),
    Step("change the password", "root", "user passwd bob --interactive=false", "user passwd bob --password-file {bob2}"),
    read("by the old password", "bob:first-word", "jobs/before", REFUSED),
    read("by the new password", "bob:second-word", "jobs/before"),
    Step("delete the user", "root", "user delete bob", "user delete bob"),
    read("by the password of a deleted user", "bob:second-word", "jobs/before", REFUSED),
    Step("delete the only administrator", "root", "user delete root", "user delete root", REFUSED),
    Step("end the checks", "root", "auth disable", "auth disable"),
    write("anybody writes again", "nobody", "jobs/after"),
    Step("a user who is no administrator switches them on", "alice", "auth enable", "auth enable", REFUSED, DONE,
         "gcoord wants a proven administrator, who could switch them off again"),
)
# Standard input of etcdctl, by step: it takes a new password from nowhere else.
TYPED = {"change the password": "second-word\n"}


class Etcd:
    """One node with TLS by the lab's CA. It knows users by the common names of their certificates."""

    def __init__(self, lab: Lab):
        self.lab = lab
        port, peer = free_ports(2)
        self.address = f"https://127.0.0.1:{port}"
        self.program = ForeignProgram(
            ["etcd", "--data-dir", str(lab.directory / "etcd"), "--listen-client-urls", self.address, "--advertise-client-urls",
             self.address, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
             f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--client-cert-auth",
             "--trusted-ca-file", str(lab.path("ca.crt")), "--cert-file", str(lab.path("node-1.crt")), "--key-file",
             str(lab.path("node-1.key")), "--logger", "zap", "--log-outputs", "stderr"], lab.directory / "etcd.txt")

    def say(self, who: str, words: str, typed: str = "") -> tuple:
        """(verdict, what was said)"""
        name, _, password = who.partition(":")
        user = "nobody" if password else name
        done = subprocess.run(["etcdctl", "--endpoints", self.address, *self.lab.files_of(user), "--command-timeout", "60s",
                               "--dial-timeout", "60s", *(["--user", who] if password else []), *words.split()],
                              input=typed, capture_output=True, text=True, timeout=CLIENT_S * 2, check=False,
                              env=dict(os.environ, ETCDCTL_API="3"))
        said = done.stdout + done.stderr
        return (DONE if done.returncode == 0 else REFUSED if ETCD_REFUSES.search(said) else "failed"), said


class Ours:
    def __init__(self, lab: Lab, cluster: Cluster):
        self.lab, self.cluster = lab, cluster

    def say(self, who: str, words: str) -> tuple:
        name, _, password = who.partition(":")
        more = ["--user", name, "--password-file", str(self.word_file(password))] if password else []
        files = {"bob": self.word_file("first-word"), "bob2": self.word_file("second-word")}
        done = self.cluster.ctl_raw("--endpoints", self.cluster.endpoints(), "--timeout", "60s", *more, *words.format(**files).split(),
                                    user="nobody" if password else name)
        said = done.stdout + done.stderr
        refused = done.returncode == 4 or any(number in said for number in OURS_KEEP)
        return (DONE if done.returncode == 0 else REFUSED if refused else "failed"), said

    def word_file(self, word: str):
        path = self.lab.directory / f"{word}.pw"
        path.write_text(word + "\n", encoding="utf-8")
        path.chmod(0o600)
        return path


def prepare(lab: Lab) -> None:
    for user in ("root", "alice", "nobody"):
        lab.must("cert", "issue", "user", user, "--dir", str(lab.path("ca")), "--out", str(lab.path(user)))


def tell(etcd: Etcd, ours: Ours, verdict) -> None:
    """One step after the other at both; the transcript goes to stderr."""
    differ = []
    for step in STORY:
        of_etcd, said = etcd.say(step.who, step.etcd, TYPED.get(step.what, ""))
        of_ours, we_said = ours.say(step.who, step.ours)
        expected = step.expected_of_etcd or step.expected
        print(f"{step.what:48} {step.who.partition(':')[0]:7} etcd {of_etcd:8} gcoord {of_ours:8}", file=sys.stderr)
        verdict.expect(f"etcd: {step.what}: {expected}", of_etcd == expected, said)
        verdict.expect(f"gcoord: {step.what}: {step.expected}", of_ours == step.expected, we_said)
        if of_etcd != of_ours:
            differ.append(f"{step.what} ({step.why or 'not expected'})")
        if "lock list" in step.ours:
            verdict.expect(f"gcoord: {step.what}: no name of others", "jobless" not in we_said, we_said)
    verdict.figures.append(f"{len(STORY)} steps at etcd and at gcoord, {len(differ)} with different verdicts: {'; '.join(differ)}")


def judge(programs, verdict) -> None:
    verdict.programs = {"etcd": version_in(r"etcd Version: (\S+)", "etcd", "--version"),
                        "etcdctl": version_in(r"etcdctl version: (\S+)", "env", "ETCDCTL_API=3", "etcdctl", "version")}

    def checks(lab: Lab, cluster: Cluster) -> None:
        etcd = Etcd(lab)
        try:
            wait_for("etcd", lambda: etcd.say("nobody", "get x")[0] == DONE, CLIENT_S)
            tell(etcd, Ours(lab, cluster), verdict)
        finally:
            etcd.program.end()

    with_nodes(programs, checks, prepare)
