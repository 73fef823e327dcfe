"""The end of a client while it is used: by other threads, by tasks that iterate and wait, by callbacks."""

import asyncio
import threading
import unittest
from typing import Any, Callable, List

import gcoord
import gcoord.aio

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest

ROUNDS = 25  # Each closes a client at another moment of its life.


class Closing(ClusterTest):
    def test_iterations_of_other_threads_end(self):
        client = gcoord.Client(ENDPOINTS, **PATIENTLY)
        ended: List[str] = []
        watch, leaders = client.watch(self.name), client.observe(self.name)

        def follow(what: str, stream: Any) -> None:
            for _ in stream:
                pass
            ended.append(what)

        threads = [threading.Thread(target=follow, args=each) for each in (("watch", watch), ("leaders", leaders))]
        for thread in threads:
            thread.start()
        client.close()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(sorted(ended), ["leaders", "watch"])
        self.assertEqual((list(watch), list(leaders)), ([], []))
        self.assert_number(4010, watch.next)

    def test_what_a_client_has_closed_is_given_back_already(self):
        client = gcoord.Client(ENDPOINTS, **PATIENTLY)
        with client.open_session(ttl=60) as session, client.take_lease(self.name, ttl=60) as lease:
            client.close()
            self.assertFalse(session.alive or lease.valid)
        session.close_async().result(PATIENCE)

    def test_threads_that_call_fail_with_one_number_and_no_callback_comes_late(self):
        for round in range(ROUNDS):
            client = gcoord.Client(ENDPOINTS, **PATIENTLY)
            # A list fails, before the end too, when no majority of the nodes is connected after a second.
            client.wait_for_all_nodes(PATIENCE)
            session, closed, ends = client.open_session(ttl=60), threading.Event(), {}
            batches: List[bool] = []
            watch = client.watch(self.name, on_batch=lambda _: batches.append(closed.is_set()))
            begun = threading.Semaphore(0)

            def until_closed(what: str, call: Callable[[], Any]) -> None:
                try:
                    while True:
                        call()
                        begun.release()
                except gcoord.GcoordError as reason:
                    ends[what] = 4010 if reason.number == 4010 else repr(reason)
                except ValueError:  # The call came after the end.
                    ends[what] = 4010
                except Exception as reason:
                    ends[what] = repr(reason)

            calls = {"pair": lambda: session.acquire(self.name).release(),
                     "list": lambda: client.list(prefix=self.name),
                     "check": lambda: client.check_async(self.name, 7).result(PATIENCE),
                     "nodes": lambda: client.wait_for_all_nodes(PATIENCE),
                     "watch": lambda: client.watch(prefix="none/").close()}
            threads = [threading.Thread(target=until_closed, args=each) for each in calls.items()]
            for thread in threads:
                thread.start()
            for _ in range(round):
                begun.acquire(timeout=PATIENCE)
            client.close()
            closed.set()
            for thread in threads:
                thread.join(PATIENCE)
            self.assertEqual(ends, dict.fromkeys(calls, 4010), f"round {round}")
            self.assertNotIn(True, batches)
            del watch


class AioClosing(unittest.IsolatedAsyncioTestCase):
    async def test_iterations_end_and_awaits_fail_whenever_the_client_is_closed(self):
        name = self.id()
        with gcoord.Client(ENDPOINTS, **PATIENTLY) as other, other.open_session(ttl=600) as holder:
            lock = holder.acquire(name)
            for round in range(ROUNDS):
                await asyncio.wait_for(self.close_after(round, name), PATIENCE)
            self.assertTrue(lock.valid)

    async def close_after(self, turns: int, name: str) -> None:
        client = await gcoord.aio.Client(ENDPOINTS, **PATIENTLY).connect()
        await client.wait_for_all_nodes(PATIENCE)  # Or a list fails before the end.
        session = await client.open_session(ttl=60)
        watch, leaders, events = await client.watch(prefix=""), await client.observe(name), session.events()

        async def rest_of(stream: Any) -> str:
            async for _ in stream:
                pass
            return "ended"

        async def until_closed(call: Callable[[], Any]) -> int:
            while True:
                try:
                    await call()
                except gcoord.GcoordError as reason:
                    return reason.number
                except RuntimeError:  # The client was closed before the call.
                    return 4010

        async def pairs() -> None:
            await (await session.acquire(name + "/own")).release()

        iterations = [asyncio.create_task(rest_of(each)) for each in (watch, leaders, events)]
        calls = [asyncio.create_task(until_closed(each)) for each in (
            lambda: session.acquire(name), lambda: client.list(prefix=name), lambda: client.get(name), pairs,
            lambda: watch.progress(PATIENCE), lambda: session.election(name).campaign(),
            lambda: client.watch(name), session.renew)]
        for _ in range(turns):
            await asyncio.sleep(0)
        await client.close()
        self.assertEqual(await asyncio.gather(*iterations), ["ended"] * len(iterations))
        self.assertEqual(await asyncio.gather(*calls), [4010] * len(calls))
        self.assertEqual([await rest_of(each) for each in (watch, leaders, events)], ["ended"] * len(iterations))

    async def test_iterations_in_several_tasks_end(self):
        async with gcoord.aio.Client(ENDPOINTS, **PATIENTLY) as client:
            leaders = await client.observe(self.id())
            waiting = [asyncio.create_task(leaders.__anext__()) for _ in range(3)]
            await asyncio.sleep(0)
        for each in waiting:
            with self.assertRaises(StopAsyncIteration):
                await asyncio.wait_for(each, PATIENCE)


if __name__ == "__main__":
    unittest.main()
