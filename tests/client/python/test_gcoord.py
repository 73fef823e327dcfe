"""The Python package against a real cluster: GCOORD_ENDPOINTS names its client ports."""

import asyncio
import gc
import os
import queue
import signal
import threading
import time
import unittest

import gcoord
from gcoord import SessionEvent, Verdict

ENDPOINTS = os.environ["GCOORD_ENDPOINTS"]
PATIENCE = 60  # Seconds; no test waits longer for anything. It only bounds a failure.


class MovedClock:
    """The system's clock, and what a test adds to it."""

    def __init__(self) -> None:
        self.added_ns = 0

    def __call__(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) + self.added_ns

    def move(self, client: gcoord.Client, seconds: float) -> None:
        self.added_ns += int(seconds * 1e9)
        client.clock_moved()


class ClusterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = MovedClock()
        self.client = gcoord.Client(ENDPOINTS, request_timeout=PATIENCE, clock=self.clock)
        self.addCleanup(self.client.close)
        self.name = self.id()

    def session(self, **options) -> gcoord.Session:
        return self.client.open_session(**{"ttl": 60, **options})

    def assert_number(self, number: int, function, *arguments, **options) -> gcoord.GcoordError:
        with self.assertRaises(gcoord.GcoordError) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.number, number, str(caught.exception))
        return caught.exception


class BadInput(ClusterTest):
    def test_each_mistake_has_its_number(self):
        session = self.session()
        held = session.acquire(self.name)
        other = session.acquire(self.name + "/other")
        for number, function, *arguments in [
                (1101, session.try_acquire, ""),
                (1102, session.try_acquire, "x" * 1025),
                (1103, session.try_acquire, "\udcff"),
                (1114, session.try_acquire, "a\n"),
                (1106, session.acquire, self.name, 25 * 3600),
                (1104, self.client.open_session, 0),
                (1104, self.client.open_session, -5),
                (1105, self.client.open_session, 25 * 3600),
                (1101, self.client.check, "", 7),
                (1103, self.client.check, "\udcff", 7),
                (1107, self.client.check, self.name, 0),
                (1101, self.client.get, ""),
                (1101, self.client.break_lock, "", "ann", "it hangs"),
                (6034, self.client.break_lock, self.name, "ann", ""),
                (6002, self.client.break_lock, self.name + "/free", "ann", "it hangs"),
                (6003, self.client.break_lock, self.name, "ann", "it hangs", held.fence + 1000)]:
            with self.subTest(number=number, function=function.__name__):
                self.assert_number(number, function, *arguments)
        # A token of another name is worth nothing.
        self.assertNotEqual(self.client.check(self.name, other.fence + 1000), Verdict.VALID)
        self.assertEqual(self.client.check(self.name, held.fence), Verdict.VALID)

    def test_a_broken_hold_has_a_number_of_its_own(self):
        events: "queue.Queue[SessionEvent]" = queue.Queue()
        session = self.session(ttl=1, on_event=events.put)
        lock = session.acquire(self.name)
        broken = self.client.break_lock(self.name, "ann@ops", "it hangs")
        self.assertEqual((broken.session_id, broken.token), (session.id, lock.fence))
        self.assert_number(6030, self.client.check, self.name, lock.fence)
        self.assertEqual(events.get(timeout=PATIENCE), SessionEvent.LOCK_LOST)
        self.assertFalse(lock.valid)
        self.assertTrue(session.alive)
        self.assertIsInstance(self.assert_number(6030, lock.release), gcoord.HoldBroken)


class Locks(ClusterTest):
    def test_a_lock_is_held_in_its_block_and_its_token_rises(self):
        session = self.session()
        with session.acquire(self.name) as first:
            self.assertTrue(first.valid)
            self.assertEqual(first.name, self.name)
            self.assertEqual(self.client.check(self.name, first.fence), Verdict.VALID)
            self.assertEqual(self.client.get(self.name).session_id, session.id)
            self.assertFalse(first.already_held)
            again = session.acquire(self.name)
            self.assertEqual((again.already_held, again.fence), (True, first.fence))
            again.detach()
        self.assertFalse(first.valid)
        with session.acquire(self.name) as second:
            self.assertGreater(second.fence, first.fence)
            self.assertEqual(self.client.check(self.name, first.fence), Verdict.STALE)

    def test_a_held_lock_is_busy_and_a_wait_runs_out(self):
        with self.session().acquire(self.name):
            other = self.session()
            with self.assertRaises(gcoord.LockBusy) as caught:
                other.try_acquire(self.name)
            self.assertEqual(caught.exception.number, 6001)
            self.assertEqual(caught.exception.status, gcoord.StatusCode.ABORTED)
            with self.assertRaises(gcoord.WaitTimedOut):
                other.acquire(self.name, wait=0.02)

    def test_a_lock_that_is_lost_sight_of_is_released(self):
        session = self.session()
        session.acquire(self.name)
        self.session().acquire(self.name, wait=PATIENCE).release()

    def test_futures_and_coroutines(self):
        session = self.session()

        async def hold() -> Verdict:
            lock = await asyncio.wrap_future(session.acquire_async(self.name))
            with lock:
                return await asyncio.wrap_future(self.client.check_async(self.name, lock.fence))

        self.assertEqual(asyncio.run(hold()), Verdict.VALID)
        names = [f"{self.name}/{number}" for number in range(200)]
        locks = [future.result(PATIENCE) for future in [session.acquire_async(name) for name in names]]
        verdicts = self.client.check_batch((lock.name, lock.fence) for lock in locks)
        self.assertEqual(set(verdicts), {Verdict.VALID})
        self.assertEqual(self.client.check_batch([]), [])

    def test_a_wait_that_is_interrupted_leaves_no_lock_behind(self):
        holder = self.session().acquire(self.name)
        waiting = self.session()

        def interrupt() -> None:
            while self.client.get(self.name).waiter_count == 0:
                pass
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            waiting.acquire(self.name)
        thread.join()
        holder.release()
        self.session().acquire(self.name, wait=PATIENCE).release()

    def test_a_lock_keeps_its_session_alive_and_a_session_its_client(self):
        lock = gcoord.Client(ENDPOINTS).open_session(ttl=60).acquire(self.name)
        gc.collect()
        self.assertTrue(lock.valid)
        self.assertEqual(self.client.check(self.name, lock.fence), Verdict.VALID)
        lock.release()

    def test_closing_a_session_releases_its_locks(self):
        with self.session() as session:
            session.acquire(self.name).detach()
            self.assertTrue(session.alive)
            session.renew()
            self.assertGreater(session.remaining, 0)
        self.session().acquire(self.name, wait=PATIENCE).release()


class Events(ClusterTest):
    def test_L16_S10_jeopardy_and_expired_are_told_in_order_and_the_lock_is_not_valid(self):
        told: "queue.Queue[SessionEvent]" = queue.Queue()
        session = self.session(ttl=20, on_event=told.put)
        lock = session.acquire(self.name)
        self.clock.move(self.client, 60)
        self.assertFalse(lock.valid)
        self.assertFalse(session.alive)
        self.assertEqual(told.get(timeout=PATIENCE), SessionEvent.JEOPARDY)
        self.assertEqual(told.get(timeout=PATIENCE), SessionEvent.EXPIRED)
        with self.assertRaises(gcoord.SessionExpired):
            session.acquire(self.name)

    def test_S10_a_wait_ends_when_its_session_does(self):
        told: "queue.Queue[SessionEvent]" = queue.Queue()
        with gcoord.Client(ENDPOINTS) as other, other.open_session(ttl=60) as holder, holder.acquire(self.name):
            waiting = self.session(ttl=20, on_event=told.put).acquire_async(self.name)
            self.clock.move(self.client, 60)
            with self.assertRaises(gcoord.SessionExpired):
                waiting.result(PATIENCE)

    def test_a_lease_stands_alone(self):
        told: "queue.Queue[SessionEvent]" = queue.Queue()
        other = self.session(ttl=600)
        with self.client.take_lease(self.name, ttl=20, on_event=told.put) as lease:
            self.assertTrue(lease.valid)
            self.assertEqual(lease.name, self.name)
            self.assertEqual(self.client.get(self.name).session_id, lease.session_id)
            self.assertGreater(lease.fence, 0)
            lease.renew()
            self.assertLess(self.client.now_ns(), lease.certain_until_ns)
            self.clock.move(self.client, 60)
            self.assertFalse(lease.valid)
            self.assertEqual(lease.remaining, 0)
            self.assertEqual(told.get(timeout=PATIENCE), SessionEvent.JEOPARDY)
            self.assertEqual(told.get(timeout=PATIENCE), SessionEvent.EXPIRED)
            self.assertTrue(other.alive)

    def test_blocking_in_a_callback_is_refused(self):
        told: "queue.Queue[int]" = queue.Queue()

        def callback(future) -> None:
            try:
                self.client.check(self.name, 1)
            except gcoord.GcoordError as error:
                told.put(error.number)

        held = self.session().acquire(self.name)
        waiting = self.session().acquire_async(self.name)
        waiting.add_done_callback(callback)
        held.release()
        self.assertEqual(told.get(timeout=PATIENCE), 4011)
        waiting.result(PATIENCE).release()


class Elections(ClusterTest):
    def test_E1_E3_E5_E8_the_next_in_line_leads_under_a_higher_epoch(self):
        with self.assertRaises(gcoord.ElectionVacant) as caught:
            self.client.leader(self.name)
        self.assertEqual(caught.exception.number, 6101)
        first_session, second_session = self.session(), self.session()
        first, second = first_session.election(self.name), second_session.election(self.name)
        self.assertEqual((first.epoch, first.is_leader()), (0, False))
        first.campaign()
        waiting = second.campaign_async()
        while self.client.leader(self.name).waiter_count == 0:
            pass
        self.assertTrue(first.is_leader())
        self.assertFalse(second.is_leader())
        leader = self.client.leader(self.name)
        self.assertEqual((leader.session_id, leader.epoch), (first_session.id, first.epoch))
        first.resign()
        waiting.result(PATIENCE)
        self.assertTrue(second.is_leader())
        self.assertGreater(second.epoch, first.epoch)
        first.resign()
        self.assertEqual(self.client.leader(self.name).epoch, second.epoch, "a stale resignation is a no-op")

    def test_E2_E6_E9_a_leader_says_a_value_and_hands_over_to_whom_it_is_asked_for(self):
        sessions = [self.session() for _ in range(3)]
        first, second, third = (session.election(self.name) for session in sessions)
        with self.assertRaises(gcoord.GcoordError) as caught:
            first.proclaim(b"early")
        self.assertEqual(caught.exception.number, 6110)
        first.campaign(value=b"a:1", review=0.05)
        first.proclaim(b"a:2\x00\xff")
        waiting = [second.campaign_async(), third.campaign_async(value=b"c", priority=9)]
        while len(self.client.candidates(self.name).candidates) < 2:
            pass
        line = self.client.candidates(self.name)
        self.assertEqual((line.leader.value, line.epoch), (b"a:2\x00\xff", first.epoch))
        self.assertEqual([(each.session_id, each.priority, each.value) for each in line.candidates],
                         [(sessions[1].id, 0, b""), (sessions[2].id, 9, b"c")])
        with self.assertRaises(gcoord.GcoordError) as caught:
            first.transfer(12345)
        self.assertEqual(caught.exception.number, 6111)
        self.assertTrue(first.is_leader())
        self.client.ask_transfer(self.name, sessions[2].id)
        waiting[1].result(PATIENCE)
        self.assertTrue(third.is_leader())
        self.assertFalse(first.is_leader())
        self.assertGreater(third.epoch, first.epoch)
        third.transfer(sessions[1].id)
        waiting[0].result(PATIENCE)
        self.assertTrue(second.is_leader())
        self.assertFalse(third.is_leader())

    def test_E7_is_leader_turns_false_by_the_clock_alone(self):
        with self.session(ttl=20).election(self.name) as election:
            election.campaign()
            until = election.leader_until_ns
            self.assertTrue(election.is_leader(until - 1))
            self.assertFalse(election.is_leader(until + 20_000_000_000))
            self.clock.move(self.client, 60)
            self.assertFalse(election.is_leader())


class BadInput(ClusterTest):
    def test_names(self):
        session = self.session()
        for name, number in (("", 1101), ("x" * 1025, 1102), (b"\xff".decode("utf-8", "surrogateescape"), 1103),
                             ("a\0b", 1114), ("a\nb", 1114)):
            self.assert_number(number, session.acquire, name)
            self.assert_number(number, self.client.check, name, 1)
            self.assert_number(number, self.client.leader, name)
            self.assert_number(number, self.client.take_lease, name)

    def test_times(self):
        self.assert_number(1104, self.client.open_session, ttl=0)
        self.assert_number(1104, self.client.open_session, ttl=-1)
        self.assert_number(1105, self.client.open_session, ttl=1e9)
        self.assert_number(1106, self.session().acquire, self.name, wait=1e9)
        self.assert_number(1001, self.session().acquire, self.name, wait=-1)

    def test_tokens(self):
        self.assert_number(1107, self.client.check, self.name, 0)
        self.assertEqual(self.client.check(self.name, 2**64 - 1), Verdict.FREE)

    def test_clusters_that_are_not_there(self):
        self.assert_number(1002, gcoord.Client, "")
        with self.assertRaises(gcoord.Unreachable):
            gcoord.Client("127.0.0.1:1", connect_timeout=1)

    def test_objects_after_their_end(self):
        session = self.session()
        with session.acquire(self.name) as lock:
            pass
        lock.release()
        self.client.close()
        self.assert_number(4010, session.renew)
        with self.assertRaises(ValueError):
            self.client.check(self.name, 1)


class Watches(ClusterTest):
    def test_a_watch_tells_of_a_grant_and_its_release(self):
        session = self.session()
        with self.client.watch(self.name) as watch:
            with session.acquire(self.name) as lock:
                fence = lock.fence
            granted, released = watch.next(PATIENCE), watch.next(PATIENCE)
        kinds = [(batch.events[0].kind, batch.events[0].token) for batch in (granted, released)]
        self.assertEqual(kinds, [(gcoord.EventKind.GRANTED, fence), (gcoord.EventKind.RELEASED, fence)])
        self.assertEqual(granted.events[0].name, self.name)
        self.assertEqual(granted.events[0].session_id, session.id)
        self.assertLess(granted.revision, released.revision)
        with self.client.watch(self.name, from_revision=granted.revision) as again:
            self.assertEqual(again.next(PATIENCE), granted)
            self.assertEqual(again.next(PATIENCE), released)
            self.assertIsNone(again.next(0.001))

    def test_an_iteration_ends_when_the_watch_is_closed(self):
        session = self.session()
        watch = self.client.watch(prefix=self.name)
        told = []
        reader = threading.Thread(target=lambda: told.extend(batch.events[0].kind for batch in watch))
        reader.start()
        session.acquire(self.name).release()
        deadline = time.monotonic() + PATIENCE
        while len(told) < 2 and time.monotonic() < deadline:
            pass
        watch.close()
        reader.join(PATIENCE)
        self.assertEqual(told, [gcoord.EventKind.GRANTED, gcoord.EventKind.RELEASED])

    def test_what_names_nothing_is_refused(self):
        self.assert_number(6204, self.client.watch)


if __name__ == "__main__":
    unittest.main()
