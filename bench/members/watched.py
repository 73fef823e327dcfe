"""What the systems under test have in common: processes in namespaces, and one that is listened to line by line."""

import signal
import threading
import time

from network import Network


class Watched:
    """A cluster with a process in each namespace of the network. Events are (time, node, failed) as node 1 has them."""

    name = ""

    def __init__(self, network: Network, count: int):
        self.network = network
        self.nodes = network.nodes[:count]
        self.processes = {}
        self.watcher = None  # The process that is listened to, where it is none of the nodes.
        self.events = []
        self.lock = threading.Lock()

    def open(self) -> None:
        """Starts all processes, and returns once all are there."""
        raise NotImplementedError

    def __enter__(self):
        try:
            self.open()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_) -> None:
        self.end()

    def add_event(self, node: int, failed: bool) -> None:
        with self.lock:
            self.events.append((time.monotonic(), node, failed))

    def failures(self, since: float) -> list:
        with self.lock:
            return [(at, node) for at, node, failed in self.events if failed and at >= since]

    def listen(self, stream, take) -> None:
        """Calls take(line) for each line of the stream, in a thread of its own."""
        def loop() -> None:
            for line in stream:
                take(line)
        threading.Thread(target=loop, daemon=True).start()

    def kill(self, node: int) -> float:
        begin = time.monotonic()
        self.processes[node].send_signal(signal.SIGKILL)
        self.processes[node].wait(timeout=30)
        return begin

    def stop(self, node: int, seconds: float) -> None:
        self.processes[node].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.processes[node].send_signal(signal.SIGCONT)

    def detected(self, node: int, begin: float, limit: float):
        """Seconds until node 1 has it that the node failed; None: not within the limit."""
        while time.monotonic() - begin < limit:
            times = [at for at, failed in self.failures(begin) if failed == node]
            if times:
                return times[0] - begin
            time.sleep(0.002)
        return None

    def victims(self) -> tuple:
        """Nodes that a trial may kill."""
        return self.nodes[1:]

    def end(self) -> None:
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.wait(timeout=30)
            self.watcher = None
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
        for process in self.processes.values():
            process.wait(timeout=30)
        self.processes = {}


def wait_until(what: str, holds, seconds: float = 120, step: float = 0.1) -> None:
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            raise TimeoutError(f"{what} did not come in {seconds:.0f} s")
        time.sleep(step)
