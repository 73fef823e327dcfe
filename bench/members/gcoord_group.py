"""Members of a group of a gcoord cluster: each a process in the group and one that prints the views that it is shown."""

import json
import subprocess
import time

from gcoord_cluster import CLIENT, GcoordCluster
from watched import wait_until

NAME = "bench"


class GroupMember:
    """Its processes ask one node each, in turn, so that all nodes tell of views."""

    def __init__(self, cluster: GcoordCluster, number: int, ttl: int):
        self.cluster, self.number, self.ttl = cluster, number, ttl
        self.node = cluster.voters[number % len(cluster.voters)]
        self.views = []  # (time, epoch, ids)
        self.lives = 0
        self.process = None
        self.watcher = cluster.program(self.node, f"{cluster.network.address(self.node)}:{CLIENT}", "group", "watch", NAME,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cluster.listen(self.watcher.stdout, self.take)
        self.join()

    def take(self, line: str) -> None:
        at = time.monotonic()
        try:
            view = json.loads(line)
        except json.JSONDecodeError:
            return
        self.views.append((at, int(view["epoch"]), {member["id"] for member in view["members"]}))

    def join(self) -> None:
        self.lives += 1
        self.id = f"m{self.number}-{self.lives}"
        self.process = self.cluster.program(self.node, self.cluster.endpoints(), "group", "join", NAME, "--id", self.id, "--ttl",
                                            f"{self.ttl}s", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """Without a wait for its end, so that several die at once."""
        self.process.kill()

    def seen_without(self, ids: set):
        """When it was first shown a view with none of these; None: not yet."""
        return next((at for at, _, there in self.views if there and not there & ids), None)

    def end(self) -> None:
        for process in (self.process, self.watcher):
            process.kill()
            process.wait(timeout=30)


class Group:
    """Is whole when every member is shown all of them."""

    def __init__(self, cluster: GcoordCluster, members: int, ttl: int):
        self.members = []
        try:
            for number in range(members):
                self.members.append(GroupMember(cluster, number, ttl))
            self.await_whole()
        except BaseException:
            self.end()
            raise

    def await_whole(self) -> None:
        ids = {member.id for member in self.members}
        wait_until("a view of the whole group", lambda: all(member.views and member.views[-1][2] == ids for member in self.members))
        for member in self.members:
            member.views = member.views[-1:]

    def end(self) -> None:
        for member in self.members:
            member.end()

    def kill(self, dead: list, limit: float) -> dict:
        """Seconds until the first and the last of the others was shown that none of these is there, and how many views that took."""
        others = [member for member in self.members if member not in dead]
        ids = {member.id for member in dead}
        begin = time.monotonic()
        for member in dead:
            member.kill()
        wait_until("the end of the dead ones", lambda: all(member.seen_without(ids) for member in others), limit, 0.01)
        times = sorted(member.seen_without(ids) - begin for member in others)
        epochs = sorted({epoch for member in others for at, epoch, _ in member.views if at >= begin})
        firsts = [min(at for at, each, _ in member.views if each == epochs[0]) - begin for member in others
                  if any(each == epochs[0] for _, each, _ in member.views)]
        return {"killed": len(dead), "views": len(epochs), "first_view_s": round(min(firsts), 4), "first_s": round(times[0], 4),
                "last_s": round(times[-1], 4)}

    def revive(self, dead: list) -> None:
        for member in dead:
            member.process.wait(timeout=30)
            member.join()
        self.await_whole()
