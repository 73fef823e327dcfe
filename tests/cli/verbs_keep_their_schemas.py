#!/usr/bin/env python3
"""Every verb of gcoordctl prints what docs/reference/schemas/gcoordctl.json promises, and nothing besides.

Usage: verbs_keep_their_schemas.py --ctl GCOORDCTL --node GCOORDD --schema gcoordctl.json --directory DIR --turn host|resident

Runs a node, and each verb against it; at the resident turn three nodes, and the verbs of what both turns have. A verb that the schema lacks fails the test, as does a schema that no answer was
held against, a member that the schema does not name, and an exit code outside those of the verb.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import jsonschema

PATIENCE_S = 120  # Only an end for a test that fails.
# A script, the output of the child, a proof file; and a token, for which there must be users.
NO_JSON = {"completion", "lock run", "ledger prove", "auth login"}


def closed(schema):
    """The same schema, which takes no members but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: closed(each) for name, each in schema.items()}
    if "properties" in strict and strict.get("type") == "object":
        strict.setdefault("additionalProperties", False)
    return strict


def free_port() -> int:
    """A node that joins says its peer port before it listens there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Promise:
    def __init__(self, path: Path):
        whole = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema({"$defs": {**whole["$defs"], **whole["verbs"]}})
        self.definitions = closed(whole["$defs"])
        self.verbs = closed(whole["verbs"])
        self.seen = set()
        self.failures = []
        self.quiet = False

    def fail(self, what: str) -> None:
        self.failures.append(what)
        if not self.quiet:
            print(f"FAILED: {what}", file=sys.stderr)

    def hold(self, verb: str, line: str) -> None:
        schema = self.definitions["error"] if verb == "error" else self.verbs.get(verb)
        if schema is None:
            return self.fail(f"no schema for '{verb}', which printed {line}")
        validator = jsonschema.Draft202012Validator({"$defs": self.definitions, **schema})
        for error in validator.iter_errors(json.loads(line)):
            deepest = jsonschema.exceptions.best_match([error])
            self.fail(f"{verb}: {deepest.message[:500]} at {deepest.json_path} of {line[:500]}")
        self.seen.add(verb)


class Cluster:
    def __init__(self, arguments, promise: Promise):
        self.ctl = arguments.ctl
        self.program = arguments.node
        self.promise = promise
        self.directory = arguments.directory
        self.turn = arguments.turn
        self.ledger = ""
        self.nodes = []
        if self.turn == "resident":
            self.start_three()
        else:
            self.start_alone()
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith("GCOORD_")},
                            "GCOORD_ENDPOINTS": self.client, "GCOORD_TIMEOUT": "60s",
                            "XDG_CONFIG_HOME": str(self.directory / "config")}

    def start_alone(self) -> None:
        self.nodes.append(subprocess.Popen(
            [self.program, "dev", "--listen-client", "127.0.0.1:0", "--listen-ledger", "127.0.0.1:0", "--listen-peer",
             "127.0.0.1:0", "--listen-metrics", "off", "--shards", "16", "--data-dir", str(self.directory / "disk"),
             "--converge-after", "1s"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        ready = self.nodes[0].stdout.readline()
        self.client = re.search(r"client (\S+)", ready).group(1)
        self.ledger = "http://" + re.search(r"ledger (\S+)", ready).group(1)

    def start_three(self) -> None:
        places = [(f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}") for _ in range(3)]
        peers = [word for k, (peer, client) in enumerate(places, 1) for word in ("--peer", f"{k}={peer},{client}")]
        for k, (peer, client) in enumerate(places, 1):
            self.nodes.append(subprocess.Popen(
                [self.program, "--turn", "resident", "--node-id", str(k), "--cluster-name", "schemas", "--listen-peer", peer,
                 "--listen-client", client, "--listen-metrics", "off", "--shards", "16", "--data-dir",
                 str(self.directory / f"disk-{k}"), *peers], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        for node in self.nodes:
            if "ready" not in node.stdout.readline():
                raise RuntimeError("a node does not serve")
        self.client = ",".join(client for _, client in places)

    def join(self, token: str) -> subprocess.Popen:
        """A second node, once it serves."""
        node = subprocess.Popen(
            [self.program, "--join", self.client, "--join-token", token, "--listen-client", "127.0.0.1:0", "--listen-peer",
             f"127.0.0.1:{free_port()}", "--listen-metrics", "off", "--data-dir", str(self.directory / "second")],
            stdout=subprocess.PIPE, text=True)
        if "ready" not in node.stdout.readline():
            raise RuntimeError("the second node does not serve")
        return node

    def start(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen([self.ctl, "-o", "json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=self.environment, cwd=self.directory)

    def run(self, verb: str, *words: str, code=0):
        """The last answer of a verb that ends by itself with this code, or one of these; each line is held against its
        schema."""
        done = subprocess.run([self.ctl, "-o", "json", *verb.split(), *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, env=self.environment, cwd=self.directory, check=False)
        if done.returncode not in (code if isinstance(code, tuple) else (code,)):
            self.promise.fail(f"{verb} {' '.join(words)}: exit {done.returncode}, not {code}: {done.stdout}{done.stderr}")
        lines = done.stdout.splitlines()
        for line in lines:
            self.promise.hold("error" if line.startswith('{"error"') else verb, line)
        return json.loads(lines[-1]) if lines else None

    def first_line(self, process: subprocess.Popen, verb: str):
        line = process.stdout.readline()
        self.promise.hold(verb, line)
        return json.loads(line)


def end(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)


def locks(c: Cluster) -> None:
    one = c.run("lock acquire", "a", "--ttl", "10m")
    several = c.run("lock acquire", "b", "c", "--ttl", "10m")
    c.run("lock get", "a")
    c.run("lock get", "a", "--details")
    c.run("lock get", "a", "--consistency", "linearizable")
    c.run("lock get", "nobody's", "--consistency", "linearizable", code=1)
    c.run("lock get", "a", "--at-index", c.run("lock get", "a")["acquired_index"])
    c.run("lock get", "nobody's", code=1)
    c.run("lock list")
    c.run("lock check", "a", "--token", one["token"])
    c.run("lock check", "a", "--token", "999999", code=1)
    c.run("lock check", "a", "--token", one["token"], "--consistency", "linearizable")
    c.run("lock acquire", "b", "--try", code=6)
    waiting = c.start("lock", "acquire", "b", "--session", c.run("session open", "--ttl", "10m")["session"])
    while c.run("lock get", "b", "--waiters")["waiter_count"] == 0:
        pass
    c.run("lock list", "--waiters")
    c.run("lock break", "b", "--reason", "a test of the schemas")
    c.promise.hold("lock acquire", waiting.communicate(timeout=PATIENCE_S)[0])
    if c.turn == "host":
        c.run("lock move", "a", "--to-shard", "3")
    c.run("lock release", "c", "--token", several["locks"][1]["token"], "--session", several["session"])
    c.run("lock deadlocks")


def sessions(c: Cluster, group: str, words) -> None:
    opened, show, close = words
    session = c.run(f"{group} {opened}", "--ttl", "10m")["session"]
    c.run(f"{group} keep-alive", session, "--once")
    c.run("lock acquire", f"of/{group}", "--session", session)
    c.run(f"{group} {show}", session)
    c.run(f"{group} {show}", session, "--keys")
    c.run(f"{group} list")
    c.run(f"{group} list", "--count")
    c.run(f"{group} {close}", session)
    c.run(f"{group} {show}", session, code=1)
    c.run(f"{group} {close}", session, code=1)


def elections(c: Cluster) -> None:
    boss = c.start("elect", "campaign", "boss", "--value", "first", "--ttl", "10m", "--review", "100ms")
    c.first_line(boss, "elect campaign")
    c.run("elect leader", "boss")
    watching = c.start("elect", "observe", "boss")
    c.first_line(watching, "elect observe")
    end(watching)
    heir = c.start("elect", "campaign", "boss", "--value", "second", "--ttl", "10m")
    while not c.run("elect candidates", "boss")["candidates"]:
        pass
    c.run("elect transfer", "boss", "--to", "second", "--wait", "1m")
    boss.communicate(timeout=PATIENCE_S)
    office = c.first_line(heir, "elect campaign")
    c.run("elect proclaim", "boss", "third", "--session", office["session"], "--epoch", office["epoch"])
    end(heir)
    office = c.run("elect campaign", "boss", "--once", "--ttl", "10m")
    c.run("elect resign", "boss", "--session", office["session"], "--epoch", office["epoch"])
    c.run("elect leader", "boss", code=1)


def groups(c: Cluster) -> None:
    member = c.start("group", "join", "crew", "--id", "first", "--payload", "here", "--ttl", "10m")
    c.first_line(member, "group join")
    other = c.run("group join", "crew", "--id", "second", "--once", "--ttl", "10m")
    c.run("group list", "crew")
    watching = c.start("group", "watch", "crew", "--count", "1")
    c.first_line(watching, "group watch")
    watching.communicate(timeout=PATIENCE_S)
    c.run("group leave", "crew", "--session", other["session"])
    c.run("group leave", "crew", "--session", other["session"], code=1)
    end(member)
    c.run("group barrier", "crew", "--size", "1")
    c.run("group barrier", "crew", "--size", "2", "--wait", "100ms", code=1)
    c.run("group rendezvous", "train", "--min", "1", "--max", "1", "--payload", "here", "--once")
    c.run("group round", "train")
    c.run("group rendezvous", "train", "--min", "1", "--max", "2", "--deadline", "100ms", code=1)


def watches(c: Cluster) -> None:
    # The first watch begins at the beginning of the log, so it needs nobody to hurry.
    name = "watched"
    held = c.run("lock acquire", name, "--ttl", "10m")
    c.run("watch", name, "--wait-for", "held")
    watching = c.start("watch", name, "--wait-for", "free", "--previous")
    while c.run("lock get", name)["session"] != held["session"]:
        pass
    c.run("lock release", name, "--token", held["token"], "--session", held["session"])
    c.promise.hold("watch", watching.communicate(timeout=PATIENCE_S)[0].splitlines()[-1])


def ledgers(c: Cluster) -> None:
    keys = c.run("ledger keys", "--ledger", c.ledger)["keys"]
    where = ["--ledger", c.ledger, "--key", keys[0]["key"]]
    c.run("ledger head", *where)
    c.run("ledger get", "0", "--ledger", c.ledger, "--key", keys[0]["key"], "--shard", "3")
    c.run("ledger get", "--since", "1h", "--ledger", c.ledger)
    c.run("ledger fsck", *where)
    c.run("ledger export", "exported", *where)
    c.run("ledger watch", *where, "--state", "seen", "--count", "1")
    subprocess.run([c.ctl, "ledger", "prove", "0", "--shard", "3", "--out", "proof", *where], check=True,
                   timeout=PATIENCE_S, env=c.environment, cwd=c.directory)
    c.run("ledger verify", "proof", "--key", keys[0]["key"])
    c.run("ledger prune", "--keep", "entries:1000000")
    c.run("ledger prune", "--pending")


def snapshots(c: Cluster) -> None:
    c.run("snapshot save", "file")
    c.run("snapshot inspect", "file")
    c.run("snapshot inspect", "file", "--shards")
    c.run("snapshot restore", "file", "--data-dir", "restored", "--node", "1", "--nodes", "1")


def access(c: Cluster) -> None:
    c.run("auth status")
    c.run("auth rights")
    c.run("auth enable", code=1)  # Nobody could change that any more.
    c.run("auth disable", code=1)
    c.run("role add", "ops", "read", "details", "--prefix", "jobs/")
    c.run("role grant", "ops", "lock.break", "--only", "jobs/train")
    c.run("role grant", "ops", "cluster.admin", "--prefix", "jobs/", code=2)
    c.run("role add", "all", "--include", "ops", "--include", "root")
    c.run("role grant", "ops", "--include", "all", code=1)
    c.run("role revoke", "all", "--include", "root", "--dry-run")
    c.run("role get", "ops")
    c.run("role get", "none", code=1)
    c.run("role list")
    c.run("user add", "ann", "--role", "root", "--no-password", "--as", "ann")
    c.run("user add", "ann", "--no-password", code=6)
    c.run("user grant", "ann", "ops", "--epoch", "1", code=6)
    c.run("user grant", "ann", "ops")
    c.run("user revoke", "ann", "ops")
    c.run("user passwd", "ann", "--no-password")
    c.run("user disable", "ann")
    c.run("user enable", "ann")
    c.run("user get", "ann")
    c.run("user list", "--limit", "1")
    c.run("auth enable", code=4)  # Nothing proves that this is ann.
    c.run("role revoke", "ops", "lock.break", "--only", "jobs/train")
    c.run("role delete", "all")
    c.run("limit set", "--principal", "ann", "--rate", "100", "--locks", "5", "--session-ttl-max", "30s")
    c.run("limit set", "--prefix", "jobs/", "--rate", "100", "--dry-run")
    c.run("limit set", "--prefix", "jobs/", "--locks", "5", code=2)
    c.run("limit list")
    c.run("limit remove", "--principal", "ann", "--epoch", "7", code=6)
    c.run("limit remove", "--principal", "ann")
    c.run("limit remove", "--principal", "ann", code=1)
    c.run("deny add", "--network", "198.51.100.0/24", "--for", "1m", "--reason", "a test")
    c.run("deny add", "--network", "127.0.0.1", "--for", "1m", code=1)
    c.run("deny list")
    c.run("deny remove", "--network", "198.51.100.0/24")
    c.run("user delete", "ann")


def certificates(c: Cluster) -> None:
    c.run("cert ca", "--dir", "lab-ca", "--cluster-id", "17")
    c.run("cert issue", "node", "1", "--dir", "lab-ca", "--hosts", "localhost,127.0.0.1", "--out", "lab-node")
    c.run("cert renew", "lab-node.crt", "--dir", "lab-ca", "--new-key")
    c.run("cert show", "lab-node.crt", "lab-ca/ca.crl")
    c.run("cert verify", "lab-node.crt", "--dir", "lab-ca", "--host", "127.0.0.1", "--holder", "node/1")
    c.run("cert revoke", "lab-node.crt", "--dir", "lab-ca")


def secrets(c: Cluster) -> None:
    c.run("cluster secret new", "secret")
    c.run("cluster secret new", "secret", code=2)
    c.run("cluster secret rotate", "secret")
    c.run("cluster secret show", "secret")


def what_there_is(c: Cluster) -> None:
    c.run("version")
    c.run("status")
    c.run("doctor", code=(0, 1))  # It judges this machine's disk, too.
    c.run("health")
    c.run("auth whoami")
    c.run("whoami")
    c.run("shard ls")
    c.run("shard show", "3")
    c.run("top", "--once", "--interval", "100ms")
    c.run("top", "--count", "2", "--interval", "100ms", "--sort", "cpu")
    c.run("log level")
    c.run("log level", "warn,disk=error")
    c.run("log level", "loud", code=2)
    c.run("member watch", "--count", "1")  # Waits for the first view.
    c.run("member list")
    c.run("alarm list")
    c.run("no such verb", code=2)


def benches(c: Cluster) -> None:
    c.run("bench lock", "--seconds", "1", "--clients", "2")
    c.run("bench lock", "--load", "s", "--duration", "200ms", code=(0, 1))  # The verdict is about this machine, too.
    for operation in ("lock", "lease", "elect", "watch", "read"):
        c.run(f"bench {operation}", "--rate", "50", "--duration", "200ms", "--clients", "2", "--keys", "5")
    c.run("bench queue", "--waiters", "10", "--handovers", "10")


def the_rest(c: Cluster) -> None:
    what_there_is(c)
    c.run("debug bundle", "--seconds", "1", "--out", "bundle", code=1)  # This node has no pages.
    c.run("cluster init", "--dir", "made")
    c.run("context set", "here", "--endpoints", c.client)
    c.run("context list")
    c.run("context show")
    c.run("context show", "here")
    c.run("context use", "here")
    c.run("context rm", "here")
    c.run("member update", "1", "--label", "zone=a", "--name", "db", "--view", "1", "--dry-run")
    c.run("member update", "1", "--label", "zone=a", "--name", "db", "--view", "1")
    c.run("member update", "1", "--label", "zone=b", "--view", "1", code=6)
    c.run("member update", "1", "--label", "zone", "--view", "2", code=2)
    c.run("member update", "7", "--name", "x", "--view", "2", code=1)
    c.run("member update", "db", "--weight", "2", "--view", "2", "--dry-run")
    c.run("member drain", "db")
    c.run("member undrain", "1", "--view", "3")
    c.run("member undrain", "1", code=1)
    c.run("member move-leaders", "1")
    c.run("member remove", "1", code=1)  # The last voter.
    c.run("member add", "--name", "next", "--dry-run")
    added = c.run("member add", "--name", "next", "--label", "zone=b", "--learner", "--token-ttl", "1m")
    c.run("member add", "--name", "next", code=6)
    c.run("member add", "--witness", code=1)  # One voter is not enough for it.
    c.run("member promote", "next", code=1)  # Nobody has come yet.
    c.run("member list")
    while not c.run("alarm list")["alarms"]:  # Nobody comes.
        pass
    c.run("alarm disarm", "not-converged:99", code=1)
    c.run("alarm disarm", "not-converged", "--as", "ann")
    c.run("alarm disarm", "all")
    access(c)
    c.run("status")
    c.run("health")
    c.run("member remove", str(added["node"]))
    c.run("member replace", "db", "--dry-run")
    c.run("quorum eval", "--voters", "1,2,3", "--votes", "1=yes", "--acknowledged", "1=7,2=7")
    benches(c)
    second = c.join(c.run("member add", "--name", "second", "--learner")["token"])
    while c.run("member promote", "second", "--dry-run", code=(0, 5)).get("error", {}).get("code") == "GC6624":
        pass  # It has not caught up yet.
    end(second)
    stopped = str(c.directory / "second")
    c.run("member forget-directory", "1", "--data-dir", stopped)
    c.run("member forget-directory", "1", "--data-dir", stopped, code=1)


def leaves(ctl: str, words=()) -> list:
    """All verbs, by their words, as the help lists them."""
    text = subprocess.run([ctl, *words, "--help"], capture_output=True, text=True, timeout=PATIENCE_S,
                          check=True).stdout
    if "\nSubcommands:\n" not in text:
        return [" ".join(words)]
    listed = text.split("\nSubcommands:\n")[1].split("\n\n")[0]
    names = re.findall(r"^  (\S+?),? ", listed, re.MULTILINE)
    return [leaf for name in names for leaf in leaves(ctl, (*words, name))]


def refuses_what_is_wrong(path: Path) -> bool:
    """Whether answers that break the promise are found."""
    wrong = ['{"gcoordctl":1}', '{"gcoordctl":"1","more":1}', "{}"]
    for line in wrong:
        promise = Promise(path)
        promise.quiet = True
        promise.hold("version", line)
        if not promise.failures:
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("ctl", "node", "schema", "directory"):
        parser.add_argument(f"--{name}", required=True, type=lambda text: Path(text).resolve())
    parser.add_argument("--turn", choices=("host", "resident"), default="host")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.directory, ignore_errors=True)
    arguments.directory.mkdir(parents=True)
    promise = Promise(arguments.schema)
    verbs = leaves(str(arguments.ctl))
    for verb in set(verbs) - NO_JSON - promise.verbs.keys():
        promise.fail(f"no schema for '{verb}'")
    for verb in promise.verbs.keys() - set(verbs):
        promise.fail(f"a schema for '{verb}', which is no verb")
    if not refuses_what_is_wrong(arguments.schema):
        promise.fail("an answer that breaks its schema passes")
    cluster = Cluster(arguments, promise)
    try:
        locks(cluster)
        sessions(cluster, "session", ("open", "show", "close"))
        sessions(cluster, "lease", ("grant", "timetolive", "revoke"))
        elections(cluster)
        groups(cluster)
        watches(cluster)
        if arguments.turn == "host":
            ledgers(cluster)
            snapshots(cluster)
            certificates(cluster)
            secrets(cluster)
            the_rest(cluster)
        else:
            what_there_is(cluster)
            access(cluster)
            benches(cluster)
    finally:
        for node in cluster.nodes:
            end(node)
    # These answer only over a connection that proves an administrator, which a node without TLS has none of.
    unproven = {"auth enable", "auth disable"}
    whole = promise.verbs.keys() if arguments.turn == "host" else set()
    for verb in whole - promise.seen - unproven:
        promise.fail(f"nothing was held against the schema of '{verb}'")
    print(f"{len(promise.seen)} schemas, {len(promise.failures)} failures")
    return 1 if promise.failures else 0


if __name__ == "__main__":
    sys.exit(main())
