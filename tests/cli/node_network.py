#!/usr/bin/env python3
"""A network for gcoord-node, and clients: the lin-kv workload of Maelstrom, judged by gcoord-check.

Usage: node_network.py --node PROGRAM --check PROGRAM --directory DIR [--nodes 3] [--operations 300] [--seed 1]

OPERATIONS are those that succeed; how many are asked for is up to the cluster. It carries lines between the nodes' stdin
and stdout, late, twice, in another order or not at all; it parts the network and kills a node (-9) every so many
operations, starts it again on what it had, and heals everything before the last fifth. Clients ask any node, one
operation at a time; without an answer in time an operation is of unknown outcome.
Exits with gcoord-check's code, or 1 when the workload could not be carried out or showed too little.
"""

import argparse
import heapq
import json
import os
import random
import selectors
import shutil
import subprocess
import sys
import time
from pathlib import Path

CLIENTS = 8
KEYS = 4
ANSWER_WITHIN_NS = 3_000_000_000
PAUSE_NS = 30_000_000  # After an error, so that errors do not chase one another.
RUN_WITHIN_NS = 380_000_000_000
LOSS, TWICE = 0.01, 0.02  # Of messages between nodes, before the network heals.
DELAY_NS = (100_000, 8_000_000)
DEFINITE_ERRORS = {10, 11, 12, 14, 20, 21, 22}  # Maelstrom's: it certainly did not happen.


class Node:
    """A process and the unread part of what it said."""

    def __init__(self, name, program, directory):
        self.name, self.program, self.directory = name, program, directory
        self.process, self.unread, self.unsent = None, b"", b""

    def start(self, names):
        self.directory.mkdir(mode=0o700, exist_ok=True)
        command = [self.program, "--data-dir", str(self.directory), "--shards", "4"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.unread, self.unsent = b"", b""
        self.say({"src": "c0", "dest": self.name,
                  "body": {"type": "init", "msg_id": 0, "node_id": self.name, "node_ids": names}})

    def say(self, message):
        if self.process is not None:
            self.unsent += json.dumps(message).encode() + b"\n"
            self.send_unsent()

    def send_unsent(self):
        try:
            while self.unsent:
                self.unsent = self.unsent[os.write(self.process.stdin.fileno(), self.unsent):]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.unsent = b""

    def heard(self):
        try:
            self.unread += os.read(self.process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            pass
        *lines, self.unread = self.unread.split(b"\n")
        return [json.loads(line) for line in lines]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None


class Network:
    """Nodes, clients, and what is on its way between them."""

    def __init__(self, options):
        self.random = random.Random(options.seed)
        self.options = options
        self.names = [f"n{i + 1}" for i in range(options.nodes)]
        self.nodes = {name: Node(name, options.node, options.directory / name) for name in self.names}
        self.selector = selectors.DefaultSelector()
        self.due = []  # (time, order, message)
        self.order = self.asked = self.answered = 0
        self.waiting, self.pausing = {}, {}  # By client: its operation; until when it asks for none.
        self.side = {}  # Node name -> side of the partition.
        self.healed = False
        self.fault_counts = {"partition": 0, "kill": 0, "lost": 0, "twice": 0}
        self.history = open(options.directory / "history.jsonl", "w")

    def start(self, name):
        node = self.nodes[name]
        node.start(self.names)
        self.selector.register(node.process.stdout, selectors.EVENT_READ, node)

    def kill(self, name):
        self.selector.unregister(self.nodes[name].process.stdout)
        self.nodes[name].kill()

    def post(self, message):
        between = message["dest"] in self.nodes and message["src"] in self.nodes
        copies = 1
        if between and not self.healed:
            if self.random.random() < LOSS or self.side.get(message["src"]) != self.side.get(message["dest"]):
                self.fault_counts["lost"] += 1
                return
            copies += self.random.random() < TWICE
            self.fault_counts["twice"] += copies - 1
        for _ in range(copies):
            self.order += 1
            heapq.heappush(self.due, (time.monotonic_ns() + self.random.randrange(*DELAY_NS), self.order, message))

    def deliver(self):
        while self.due and self.due[0][0] <= time.monotonic_ns():
            message = heapq.heappop(self.due)[2]
            if message["dest"] in self.nodes:
                self.nodes[message["dest"]].say(message)
            else:
                self.on_answer(message["dest"], message["body"])

    def ask(self, client):
        operation = self.random.choice(["read", "read", "write", "cas"])
        body = {"type": operation, "msg_id": self.asked, "key": self.random.randrange(KEYS)}
        if operation == "write":
            body["value"] = self.random.randrange(5)
        elif operation == "cas":
            body.update({"from": self.random.randrange(5), "to": self.random.randrange(5)})
        self.asked += 1
        self.waiting[client] = (body, time.monotonic_ns())
        self.post({"src": client, "dest": self.random.choice(self.names), "body": body})

    def on_answer(self, client, body):
        if client in self.waiting and self.waiting[client][0]["msg_id"] == body.get("in_reply_to"):
            asked, called = self.waiting.pop(client)
            self.record(client, asked, called, body)

    def record(self, client, asked, called, body):
        """One line of the history; body None: no answer came."""
        code = body.get("code") if body else None
        args = {name: str(asked[other]) for name, other in (("value", "value"), ("from", "from")) if other in asked}
        if asked["type"] == "cas":
            args["value"] = str(asked["to"])
        outcome = "ok" if body and body["type"] == asked["type"] + "_ok" else "unknown"
        if asked["type"] == "read" and outcome == "ok":
            args["value"] = str(body["value"])
        elif asked["type"] == "read" and code == 20:
            outcome = "ok"  # Nothing was ever written.
        elif code in DEFINITE_ERRORS:
            outcome = "fail"
            if code in (20, 22) and asked["type"] == "cas":
                args["reason"] = "mismatch"
        self.answered += outcome == "ok"
        if outcome != "ok":
            self.pausing[client] = time.monotonic_ns() + PAUSE_NS
        line = {"process": int(client[1:]), "op": asked["type"], "key": str(asked["key"]), "args": args,
                "call": str(called), "return": str(time.monotonic_ns()), "outcome": outcome}
        self.history.write(json.dumps(line) + "\n")

    def expire(self):
        now = time.monotonic_ns()
        for client, (asked, called) in list(self.waiting.items()):
            if now - called > ANSWER_WITHIN_NS:
                del self.waiting[client]
                self.record(client, asked, called, None)

    def harm(self):
        """What happens to the network and the nodes, by how many operations succeeded."""
        share = self.answered / self.options.operations
        step = int(share * 20)
        if step == self.harmed or self.healed:
            return
        self.harmed = step
        if share >= 0.8:
            self.healed, self.side = True, {}
            for name in self.names:
                if self.nodes[name].process is None:
                    self.start(name)
        elif step % 4 == 1:
            few = self.random.sample(self.names, (len(self.names) - 1) // 2)
            self.side = {name: int(name in few) for name in self.names}
            self.fault_counts["partition"] += 1
        elif step % 4 == 2:
            self.side = {}
        elif step % 4 == 3:
            self.victim = self.random.choice(self.names)
            self.kill(self.victim)
            self.fault_counts["kill"] += 1
        elif self.victim:
            self.start(self.victim)
            self.victim = None

    def turn(self):
        self.deliver()
        self.expire()
        soon = self.due[0][0] - time.monotonic_ns() if self.due else 20_000_000
        for key, _ in self.selector.select(max(0, min(soon, 20_000_000)) / 1e9):
            for message in key.data.heard():
                self.post(message)
        for node in self.nodes.values():
            if node.process is not None and node.unsent:
                node.send_unsent()

    def run(self):
        self.harmed, self.victim = 0, None
        for name in self.names:
            self.start(name)
        clients = [f"c{i + 1}" for i in range(CLIENTS)]
        until = time.monotonic_ns() + RUN_WITHIN_NS
        while (self.answered < self.options.operations or self.waiting) and time.monotonic_ns() < until:
            if self.answered < self.options.operations:
                for client in clients:
                    if client not in self.waiting and self.pausing.get(client, 0) <= time.monotonic_ns():
                        self.ask(client)
                self.harm()
            self.turn()
        for name in self.names:
            if self.nodes[name].process is not None:
                self.kill(name)
        self.history.close()
        return time.monotonic_ns() < until


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--node", required=True)
    parser.add_argument("--check", required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--operations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    shutil.rmtree(options.directory, ignore_errors=True)
    options.directory.mkdir(parents=True)
    network = Network(options)
    in_time = network.run()
    print(f"{network.asked} asked, {network.answered} succeeded, {network.fault_counts}")
    if not in_time or 0 in network.fault_counts.values():
        print("the workload showed too little")
        return 1
    checked = subprocess.run([options.check, str(options.directory / "history.jsonl")], check=False)
    if checked.returncode == 0:
        shutil.rmtree(options.directory)
    return checked.returncode


if __name__ == "__main__":
    sys.exit(main())
