#!/usr/bin/env python3
"""Records what a release writes and sends, for recorded_release_test.cc.

usage: record.py --bin FOLDER --name RELEASE [--port 26600]

FOLDER has gcoordd and gcoordctl of the release. Three nodes with eight shards take a few locks; then all are killed, so that
the logs hold more than the checkpoints. RELEASE.tar.xz beside this file gets their data directories, the bytes that went over
the links of the nodes and of a client, and locks.txt: each lock with its token and its session.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
NODES = (1, 2, 3)
SHARDS = 8
KEPT = 48 << 10  # Bytes of a link in one direction: elections, heartbeats and the first locks.
FIRST, SECOND = ("recorded/a", "recorded/b", "recorded/c", "recorded/d"), ("recorded/e", "recorded/f")


class Tap:
    """Passes connections on to a port, and keeps what goes either way: NAME.CONNECTION.out and NAME.CONNECTION.back."""

    def __init__(self, port: int, to: int, name: str, folder: pathlib.Path) -> None:
        self.to, self.name, self.folder = to, name, folder
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        for connection in itertools.count(1):
            caller, _ = self.listener.accept()
            try:
                called = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                caller.close()
                continue
            for source, sink, way in ((caller, called, "out"), (called, caller, "back")):
                kept = self.folder / f"{self.name}.{connection}.{way}"
                threading.Thread(target=self.carry, args=(source, sink, kept), daemon=True).start()

    def carry(self, source: socket.socket, sink: socket.socket, kept: pathlib.Path) -> None:
        size = 0
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                if size < KEPT:
                    size += len(data)
                    with open(kept, "ab") as file:
                        file.write(data)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()


def start(programs: pathlib.Path, node: int, port: int, folder: pathlib.Path) -> subprocess.Popen:
    peers = [word for other in NODES if other != node
             for word in ("--peer", f"{other}=127.0.0.1:{port + 40 + 4 * node + other},127.0.0.1:{port + other}")]
    return subprocess.Popen(
        [programs / "gcoordd", "--node-id", str(node), "--cluster-name", "local", "--shards", str(SHARDS),
         "--listen-client", f"127.0.0.1:{port + node}", "--listen-peer", f"127.0.0.1:{port + 20 + node}",
         "--listen-metrics", f"127.0.0.1:{port + 30 + node}", "--data-dir", folder / f"node-{node}",
         "--checkpoint-interval", "1s", "--log-level", "error", *peers], stdout=subprocess.PIPE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, default=26600)
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    frames = folder / "frames"
    frames.mkdir()
    for node in NODES:
        for other in NODES:
            if other != node:
                Tap(given.port + 40 + 4 * node + other, given.port + 20 + other, f"peer-{node}-{other}", frames)
    Tap(given.port + 60, given.port + 1, "client", frames)

    def control(*words: str) -> dict:
        told = subprocess.run([given.bin / "gcoordctl", "--endpoints", f"127.0.0.1:{given.port + 60}", "-o", "json", *words],
                              check=True, stdout=subprocess.PIPE).stdout
        return json.loads(told)

    nodes = [start(given.bin, node, given.port, folder) for node in NODES]
    try:
        for node in nodes:
            assert node.stdout.readline().startswith(b"gcoordd ready")
        session = str(control("session", "open", "--ttl", "24h")["session"])
        lines = []
        for names in (FIRST, SECOND):
            for name in names:
                told = control("lock", "acquire", name, "--session", session, "--note", f"note of {name}")
                lines.append(f"{name} {told['token']} {session}")
            if names is FIRST:
                gone = control("lock", "acquire", "recorded/released", "--session", session)
                control("lock", "release", "recorded/released", "--session", session, "--token", str(gone["token"]))
                time.sleep(4)  # Checkpoints, heads and their signatures.
    finally:
        for node in nodes:
            node.kill()
            node.wait()
    (folder / "locks.txt").write_text("".join(f"{line}\n" for line in lines))
    for path in folder.rglob("LOG*"):
        path.unlink()  # RocksDB's own log.
    for path in frames.iterdir():
        os.truncate(path, min(path.stat().st_size, KEPT))
    subprocess.run(["tar", "--sparse", "--sort=name", "--owner=0", "--group=0", "-I", "xz -9e", "-cf",
                    HERE / f"{given.name}.tar.xz", "-C", folder, *sorted(os.listdir(folder))], check=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
