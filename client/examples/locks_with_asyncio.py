"""Many locks, a watch and a wait that is given up, in one event loop. The cluster is what GCOORD_ENDPOINTS names."""

import asyncio
import os

import gcoord
import gcoord.aio


async def follow(watch: gcoord.aio.Watch, count: int) -> int:
    """Takes so many events of the watch."""
    seen = 0
    async for batch in watch:
        seen += len(batch.events)
        if seen >= count:
            break
    return seen


async def main() -> None:
    async with gcoord.aio.Client(os.environ.get("GCOORD_ENDPOINTS", "127.0.0.1:7400")) as client:
        async with client.open_session(ttl=10) as session, client.open_session(ttl=10) as other:
            async with client.watch(prefix="examples/asyncio/") as watch:
                following = asyncio.create_task(follow(watch, 100))
                locks = await asyncio.gather(*(session.acquire(f"examples/asyncio/{job}") for job in range(100)))
                seen = await following

            # The other session waits in the queue; the end of the wait takes it out again.
            try:
                await asyncio.wait_for(other.acquire("examples/asyncio/0"), timeout=0.1)
            except asyncio.TimeoutError:
                pass
            await asyncio.gather(*(lock.release() for lock in locks))
            async with other.acquire("examples/asyncio/0") as lock:
                assert lock.fence > locks[0].fence
    print(f"{len(locks)} locks at once, {seen} grants seen, and one wait that was given up")


if __name__ == "__main__":
    asyncio.run(main())
