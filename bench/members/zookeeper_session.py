#!/usr/bin/env python3
"""A process beside a ZooKeeper server, by kazoo: `keep HOST:PORT NAME` has an ephemeral node for as long as it lives, `watch
HOST:PORT` prints the names that are there, one JSON list for each change. Both end with a signal.
"""

import json
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError

FOLDER = "/members"
# Twice the server's tick: the shortest session that it grants.
TIMEOUT_S = 4.0


def main() -> None:
    verb, host = sys.argv[1:3]
    client = KazooClient(hosts=host, timeout=TIMEOUT_S)
    client.start(timeout=60)
    client.ensure_path(FOLDER)
    if verb == "watch":
        client.ChildrenWatch(FOLDER, lambda names: print(json.dumps(sorted(names)), flush=True))
    else:
        try:
            client.create(f"{FOLDER}/{sys.argv[3]}", ephemeral=True)
        except NodeExistsError:
            sys.exit(f"{sys.argv[3]} is there already")
    threading.Event().wait()


if __name__ == "__main__":
    main()
