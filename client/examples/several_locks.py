"""Several locks at once, permits, reads of a chosen freshness and of the past, and a session that is bound to a health
check.

The cluster is what GCOORD_ENDPOINTS names."""

import os

import gcoord
from gcoord import Consistency, HealthCheck

NO_PAST = 6320  # All nodes have pruned the beginning of the shard's log, or were given an empty directory.


def main() -> None:
    with gcoord.Client(os.environ.get("GCOORD_ENDPOINTS", "127.0.0.1:7400")) as client:
        # The session lives as long as this passes: here, as long as a shell can be started.
        with client.open_session(ttl=10, checks=[HealthCheck("command:true", interval=1)]) as session:
            assert session.healthy
            with session.acquire_all(["examples/left", "examples/right"], wait=5, note=b"both") as both:
                assert both.valid and set(both.fences) == {"examples/left", "examples/right"}
                left = client.get("examples/left")
                assert left.note == b"both"

                # This client's own writes are in it, whichever node answers.
                mine = client.read("examples/right", Consistency.MONOTONIC)
                assert mine.lock is not None and mine.lock.token == both.fence("examples/right")
                print(f"tokens {both.fences}, read at index {mine.at.index} of shard {mine.at.shard}")

            # Released or not: at that index of its shard's log it was held.
            try:
                past = client.read_at("examples/left", left.acquired_index)
                assert past.lock is not None and past.lock.token == left.token
            except gcoord.GcoordError as error:
                if error.number != NO_PAST:
                    raise
                print(f"no node has kept the log from its beginning: {error}")

            with session.acquire("examples/pool", shared=True, permits=2, permits_max=3):
                with client.open_session(ttl=10) as other:
                    with other.acquire("examples/pool", shared=True, permits=1, permits_max=3, wait=5):
                        shared = client.get("examples/pool")
                        assert sum(sharer.permits for sharer in shared.holders) == 3


if __name__ == "__main__":
    main()
