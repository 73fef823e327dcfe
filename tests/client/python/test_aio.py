"""gcoord.aio: the client in a program's event loop."""

import asyncio
import threading
import unittest
from typing import Any

import gcoord
import gcoord.aio
from gcoord import EventKind, SessionEvent, Verdict
from gcoord.aio._bridge import Bridge

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, MovedClock


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().set_debug(False)  # It keeps a traceback of every task.
        self.clock = MovedClock()
        self.client = gcoord.aio.Client(ENDPOINTS, **PATIENTLY, clock=self.clock)
        await self.client.connect()
        self.addAsyncCleanup(self.client.close)
        self.name = self.id()

    async def session(self) -> gcoord.aio.Session:
        return await self.client.open_session(ttl=60)

    async def until_waiters(self, count: int) -> None:
        while (await self.client.get(self.name)).waiter_count != count:
            pass  # Each look is a request.

    async def assert_number(self, number: int, coming: Any) -> None:
        with self.assertRaises(gcoord.GcoordError) as caught:
            await coming
        self.assertEqual(caught.exception.number, number, str(caught.exception))

    async def test_what_async_with_holds_is_given_back(self):
        async with gcoord.aio.Client(ENDPOINTS, **PATIENTLY) as client:
            async with client.open_session(ttl=60) as session:
                async with session.acquire(self.name, note=b"me") as lock:
                    self.assertTrue(lock.valid)
                    self.assertEqual(lock.name, self.name)
                    seen = await client.get(self.name)
                    self.assertEqual((seen.token, seen.session_id, seen.note), (lock.fence, session.id, b"me"))
                    with self.assertRaises(gcoord.LockBusy):
                        await (await self.session()).try_acquire(self.name)
                self.assertFalse(lock.valid)
                self.assertEqual(await client.check(self.name, lock.fence), Verdict.FREE)
                async with session.acquire_all([self.name + "/1", self.name + "/2"]) as locks:
                    self.assertEqual(list(locks.fences), [self.name + "/1", self.name + "/2"])
                    self.assertTrue(locks.valid)
                self.assertFalse(locks.valid)
                async with client.take_lease(self.name, ttl=60) as lease:
                    self.assertTrue(lease.valid)
                    await lease.renew()
                self.assertFalse(lease.valid)
            self.assertFalse(session.alive)
        with self.assertRaisesRegex(RuntimeError, "not connected"):
            await client.get(self.name)

    async def test_a_callback_that_fails_stops_nothing_behind_it(self):
        heard: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.set_result(context["exception"]))
        bridge = Bridge()
        later = asyncio.Event()
        error = ValueError("the user's")

        def fail() -> None:
            raise error

        bridge.post(fail)
        bridge.post(later.set)  # The loop is woken once for both.
        await asyncio.wait_for(later.wait(), PATIENCE)
        self.assertIs(await heard, error)

    async def test_a_cancelled_call_returns_at_once_and_its_thread_counts_until_it_ends(self):
        bridge = Bridge()
        end, lock, begun, ended, most = threading.Event(), threading.Lock(), [], [], []
        sixteen: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def block() -> None:
            with lock:
                begun.append(None)
                most.append(len(begun) - len(ended))
                if len(begun) == 16:
                    bridge.post(lambda: sixteen.set_result(None))
            end.wait(PATIENCE)
            with lock:
                ended.append(None)

        calls = [asyncio.create_task(bridge.in_thread(block)) for _ in range(40)]
        await asyncio.wait_for(sixteen, PATIENCE)
        for call in calls[:16]:
            call.cancel()
        cancelled = await asyncio.wait_for(asyncio.gather(*calls[:16], return_exceptions=True), PATIENCE)
        self.assertTrue(all(isinstance(each, asyncio.CancelledError) for each in cancelled))
        self.assertEqual(len(ended), 0)  # They block, though nobody waits for them.
        for _ in range(100):
            await asyncio.sleep(0)
        end.set()
        await asyncio.wait_for(asyncio.gather(*calls[16:]), PATIENCE)
        self.assertEqual((max(most), len(begun)), (16, 40))

    async def test_a_call_that_waits_for_a_thread_fails_when_the_client_is_closed(self):
        bridge = Bridge()
        end = threading.Event()
        blocked = [asyncio.create_task(bridge.in_thread(lambda: end.wait(PATIENCE))) for _ in range(16)]
        waiting = asyncio.create_task(bridge.in_thread(lambda: self.fail("it never begins")))
        await asyncio.sleep(0)
        bridge.close()
        end.set()
        await self.assert_number(4010, waiting)
        await asyncio.gather(*blocked)

    async def test_an_error_in_a_block_is_the_one_to_hear_of_and_gives_back(self):
        session, other = await self.session(), await self.session()
        with self.assertRaises(ZeroDivisionError):
            async with session.acquire(self.name):
                raise ZeroDivisionError
        async with other.acquire(self.name, wait=PATIENCE):
            pass

    async def test_tasks_and_gather_take_what_is_on_its_way(self):
        session = await self.session()
        task = asyncio.create_task(session.acquire(self.name))
        both = await asyncio.gather(session.acquire(self.name + "/1"), session.acquire(self.name + "/2"))
        for lock in (await task, *both):
            await lock.release()
            self.assertFalse(lock.valid)

    async def test_a_cancelled_acquire_leaves_the_queue(self):
        holder, other = await self.session(), await self.session()
        async with holder.acquire(self.name):
            waiting = asyncio.create_task(other.acquire(self.name))
            await self.until_waiters(1)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            await self.until_waiters(0)
            self.assertTrue(other.alive)

    async def test_a_timeout_withdraws_the_acquire_and_a_lease(self):
        holder, other = await self.session(), await self.session()
        async with holder.acquire(self.name):
            for waits in (other.acquire(self.name), other.acquire_all([self.name]), self.client.take_lease(self.name)):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(waits, 0.01)
            await self.until_waiters(0)

    async def test_a_grant_that_was_not_taken_is_given_back_when_its_task_is_cancelled(self):
        session, other = await self.session(), await self.session()
        with gcoord.Client(ENDPOINTS, **PATIENTLY) as seen_from_outside:
            task = asyncio.create_task(session.acquire(self.name))
            await asyncio.sleep(0)  # It has sent its request, and this loop takes nothing until the grant is there.
            while not self.is_held(seen_from_outside):
                pass
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            async with other.acquire(self.name, wait=PATIENCE):
                self.assertTrue(session.alive)

    def is_held(self, client: gcoord.Client) -> bool:
        try:
            return client.get(self.name).session_id != 0
        except gcoord.GcoordError:
            return False

    async def test_thousands_wait_in_one_loop_and_all_are_granted_or_withdrawn(self):
        session, other = await self.session(), await self.session()
        locks = await asyncio.gather(*(session.acquire(f"{self.name}/{number}") for number in range(3000)))
        self.assertTrue(all(lock.valid for lock in locks))
        # Each waits for a lock that is held; all are cancelled at once.
        waiting = [asyncio.create_task(other.acquire(f"{self.name}/{number}")) for number in range(3000)]
        while (await self.client.get(f"{self.name}/2999")).waiter_count == 0:
            pass
        for task in waiting:
            task.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        self.assertTrue(all(isinstance(each, asyncio.CancelledError) for each in ended))
        await asyncio.gather(*(lock.release() for lock in locks))
        again = await asyncio.gather(*(session.acquire(f"{self.name}/{number}", PATIENCE) for number in range(3000)))
        self.assertTrue(all(lock.valid for lock in again))

    async def test_a_watch_is_iterated_until_it_is_closed(self):
        session, told = await self.session(), []
        async with self.client.watch(self.name) as watch:
            async def follow():
                async for batch in watch:
                    told.extend((event.kind, event.token) for event in batch.events)
                    if len(told) == 100:
                        break
                async for _ in watch:
                    self.fail("nothing more happens")

            following, fences = asyncio.create_task(follow()), []
            for _ in range(50):
                async with session.acquire(self.name) as lock:
                    fences.append(lock.fence)
            while len(told) < 100:
                await asyncio.sleep(0)
            self.assertEqual(told[::2], [(EventKind.GRANTED, fence) for fence in fences])
            self.assertEqual(told[1::2], [(EventKind.RELEASED, fence) for fence in fences])
            progress = await watch.progress()
            self.assertEqual(set(progress), set(watch.revisions()))
        await asyncio.wait_for(following, PATIENCE)

    async def test_the_end_of_a_watch_ends_a_call_of_it_that_blocks(self):
        session = await self.session()
        watch = await self.client.watch(self.name, queue_bytes_max=1)
        for _ in range(3):  # Nobody takes them, and a full queue answers nobody who asks how far it is.
            await (await session.acquire(self.name)).release()
        asking = asyncio.create_task(watch.progress(PATIENCE))
        await asyncio.sleep(0)
        watch.close()
        await self.assert_number(6207, asking)

    async def test_a_cancelled_iteration_loses_nothing(self):
        session = await self.session()
        async with self.client.watch(self.name) as watch:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(watch.__anext__(), 0.01)
            async with session.acquire(self.name) as lock:
                batch = await watch.__anext__()
                self.assertEqual([(each.kind, each.token) for each in batch.events], [(EventKind.GRANTED, lock.fence)])
            waiting = asyncio.create_task(watch.__anext__())
            await asyncio.wait_for(waiting, PATIENCE)  # The release.
            first = asyncio.create_task(watch.__anext__())
            await asyncio.sleep(0)
            with self.assertRaisesRegex(RuntimeError, "another task"):
                await watch.__anext__()
            first.cancel()

    async def test_a_session_tells_of_a_broken_hold_and_of_its_end(self):
        session = await self.session()
        lock = await session.acquire(self.name)
        events = session.events()
        await self.client.break_lock(self.name, "ann@ops", "it hangs")
        coming = asyncio.create_task(events.__anext__())
        while not coming.done():
            await session.renew()  # The nodes say so in their answers.
        self.assertEqual(await coming, gcoord.LostLock(self.name, lock.fence))
        self.clock.move(self.client, 120)
        self.assertEqual([event async for event in events], [SessionEvent.JEOPARDY, SessionEvent.EXPIRED])

    async def test_events_end_with_the_session_the_lease_and_the_client(self):
        client = await gcoord.aio.Client(ENDPOINTS, **PATIENTLY).connect()
        closed, left = await client.open_session(ttl=60), await client.open_session(ttl=60)
        lease = await client.take_lease(self.name, ttl=60)

        async def collect(events):
            return [event async for event in events]

        waiting = [asyncio.create_task(collect(each.events())) for each in (closed, left, lease)]
        await asyncio.sleep(0)
        await closed.close()
        await lease.release()
        await client.close()
        self.assertEqual(await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE), [[], [], []])

    async def test_a_leader_is_elected_observed_and_resigns(self):
        session, other = await self.session(), await self.session()
        with self.assertRaises(gcoord.ElectionVacant):
            await self.client.leader(self.name)
        async with self.client.observe(self.name) as leaders:
            async with session.election(self.name) as election:
                await election.campaign(value=b"a:1")
                self.assertTrue(election.is_leader())
                office = await asyncio.wait_for(leaders.__anext__(), PATIENCE)
                self.assertEqual((office.session_id, office.epoch, office.value), (session.id, election.epoch, b"a:1"))
                await election.proclaim(b"a:2")
                candidate = other.election(self.name)
                standing = asyncio.create_task(candidate.campaign())
                await self.until_waiters(1)
                line = await self.client.candidates(self.name)
                self.assertEqual((line.leader.value, [each.session_id for each in line.candidates]), (b"a:2", [other.id]))
                await candidate.resign()
                await self.assert_number(6006, standing)
                third = (await self.session()).election(self.name)
                next_in_line = asyncio.create_task(third.campaign())
                await self.until_waiters(1)
            await next_in_line
            self.assertTrue(third.is_leader())
            self.assertFalse(candidate.is_leader() or election.is_leader())
            office = await asyncio.wait_for(leaders.__anext__(), PATIENCE)
            self.assertEqual(office.epoch, third.epoch)
            rest = asyncio.create_task(self.rest_of(leaders))
            await asyncio.sleep(0)
        self.assertEqual(await asyncio.wait_for(rest, PATIENCE), [])

    async def test_a_cancelled_campaign_leaves_the_queue_and_the_next_candidate_leads_at_once(self):
        leader, cancelled, third = [(await self.session()) for _ in range(3)]
        async with self.client.watch(self.name, kinds=[EventKind.GRANTED]) as terms:
            async with leader.election(self.name) as election:
                await election.campaign()
                candidate = cancelled.election(self.name)
                standing = asyncio.create_task(candidate.campaign())
                await self.until_waiters(1)
                next_in_line = asyncio.create_task(third.election(self.name).campaign())
                await self.until_waiters(2)
                standing.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await standing
                await asyncio.wait_for(self.until_waiters(1), PATIENCE)  # While nobody's turn has come.
                line = await self.client.candidates(self.name)
                self.assertEqual([each.session_id for each in line.candidates], [third.id])
            await next_in_line
            elected = [(await asyncio.wait_for(terms.__anext__(), PATIENCE)).events[0].session_id for _ in range(2)]
        self.assertEqual(elected, [leader.id, third.id])  # Without a term of the cancelled one in between.
        self.assertTrue(cancelled.alive)

    async def rest_of(self, stream):
        return [each async for each in stream]

    async def test_present_and_past_are_read(self):
        session, name = await self.session(), self.name
        lock = await session.acquire(name)
        reading = await self.client.read(name, gcoord.Consistency.LINEARIZABLE)
        self.assertEqual(reading.lock.token, lock.fence)
        past = await self.client.read_at(name, reading.lock.acquired_index - 1)
        self.assertIsNone(past.lock)
        both = await self.client.read_batch([name, name + "/free"])
        self.assertEqual([each and each.token for each in both.answers], [lock.fence, None])
        checks = [(name, lock.fence), (name, lock.fence + 1)]
        self.assertEqual(await self.client.check_batch(checks), [Verdict.VALID, Verdict.STALE])
        self.assertEqual((await self.client.read_check(*checks[0])).verdict, Verdict.VALID)
        self.assertEqual((await self.client.read_check_batch(checks)).answers, [Verdict.VALID, Verdict.STALE])
        page = await self.client.list(prefix=name)
        while page.next_cursor and not page.locks:
            page = await self.client.list(prefix=name, cursor=page.next_cursor)
        self.assertEqual([each.name for each in page.locks], [name])
        self.assertTrue((await self.client.keep_alive_once(session.id)).alive)
        self.assertTrue((await self.client.session(session.id)).alive)
        self.assertGreater((await self.client.list_sessions(count_only=True)).count, -1)
        await self.client.read_list(prefix=name)
        await self.client.wait_for_all_nodes(PATIENCE)
        self.assertGreater(len(self.client.cluster().nodes), 0)
        self.assertGreater(self.client.statistics().requests, 0)
        self.assertGreater(len(self.client.positions()), 0)
        await self.assert_number(6016, self.client.get(name + "/free"))
        await self.assert_number(1101, session.acquire(""))
        await self.assert_number(6008, session.release(name + "/free", 7))

    async def test_an_object_belongs_to_its_loop(self):
        def elsewhere():
            return asyncio.run(self.client.get(self.name))

        with self.assertRaisesRegex(RuntimeError, "another event loop"):
            await asyncio.get_running_loop().run_in_executor(None, elsewhere)

    async def test_a_cluster_that_is_not_there_is_unreachable(self):
        with self.assertRaises(gcoord.Unreachable):
            await gcoord.aio.Client("127.0.0.1:1", connect_timeout=1).connect()


if __name__ == "__main__":
    unittest.main()
