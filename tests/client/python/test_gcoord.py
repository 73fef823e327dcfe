"""The Python package against a real cluster: GCOORD_ENDPOINTS names its client ports."""

import asyncio
import gc
import os
import queue
import signal
import tempfile
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


class MoreThanPlain(ClusterTest):
    def test_L6_a_lock_is_held_as_often_as_it_is_allowed(self):
        session = self.session()
        first = session.acquire(self.name, holds_max=2)
        again = session.acquire(self.name, holds_max=2)
        self.assertEqual((again.held_again, again.fence), (True, first.fence))
        self.assert_number(6022, session.acquire, self.name, holds_max=2)
        self.assertEqual(self.client.get(self.name).hold_count, 2)
        again.release()
        with self.assertRaises(gcoord.LockBusy):
            self.session().try_acquire(self.name)
        first.release()
        self.session().try_acquire(self.name).release()

    def test_L7_readers_share_a_lock_and_a_writer_has_it_alone(self):
        one, other = self.session(), self.session()
        with one.acquire(self.name, shared=True) as first, other.acquire(self.name, shared=True) as second:
            holders = self.client.get(self.name).holders
            self.assertEqual([(each.session_id, each.token) for each in holders],
                             [(one.id, first.fence), (other.id, second.fence)])
            with self.assertRaises(gcoord.LockBusy):
                self.session().try_acquire(self.name)
        with one.acquire(self.name) as alone:
            with one.acquire(self.name, shared=True, downgrade=True) as reader:
                self.assertEqual(reader.fence, alone.fence)
                other.try_acquire(self.name, shared=True).release()
                alone.detach()

    def test_L8_permits(self):
        with self.session().acquire(self.name, shared=True, permits=2, permits_max=3):
            self.assert_number(6001, self.session().try_acquire, self.name, shared=True, permits=2, permits_max=3)
            self.session().try_acquire(self.name, shared=True, permits=1, permits_max=3).release()
            self.assert_number(6027, self.session().try_acquire, self.name, shared=True, permits_max=4)

    def test_L9_several_locks_all_or_none(self):
        session, names = self.session(), [self.name + "/b", self.name + "/a"]
        with session.acquire_all(names, wait=PATIENCE) as locks:
            self.assertTrue(locks.valid)
            self.assertEqual(set(locks.fences), set(names))
            self.assertEqual(self.client.check(names[0], locks.fence(names[0])), Verdict.VALID)
            self.assertIsNone(locks.fence("another"))
        self.assertFalse(locks.valid)
        with self.session().acquire(names[0]):
            with self.assertRaises(gcoord.LockBusy):
                session.acquire_all(names, wait=0)
            self.session().try_acquire(names[1]).release()
        self.assert_number(6035, session.acquire_all, [])
        self.assert_number(6035, session.acquire_all, [names[0], names[0]])

    def test_L14_L15_a_lock_delay_begins_with_a_failure_and_not_with_a_break(self):
        events: "queue.Queue[gcoord.LostLock]" = queue.Queue()
        lock = self.session(ttl=1, on_lost=events.put).acquire(self.name, delay=60)
        self.client.break_lock(self.name, "ann", "it hangs")
        self.assertEqual(events.get(timeout=PATIENCE), gcoord.LostLock(self.name, lock.fence))
        failing = self.session(ttl=0.5)
        failing.acquire(self.name, delay=60).detach()
        failing.detach()
        self.assert_number(6031, self._refused_when_delayed)

    def _refused_when_delayed(self) -> None:
        other = self.session()
        while True:
            try:
                other.try_acquire(self.name).release()
            except gcoord.LockBusy:
                continue  # Its session lives yet.
            return

    def test_L20_a_note_is_read_by_others_and_the_line_is_seen(self):
        with self.session().acquire(self.name, note=b"where\0\xff") as lock:
            waiting = self.session()
            coming = waiting.acquire_async(self.name)
            while self.client.get(self.name).waiter_count == 0:
                pass
            found = self.client.get(self.name, waiters=True)
            self.assertEqual((found.note, found.token, found.name), (b"where\0\xff", lock.fence, self.name))
            self.assertEqual([each.session_id for each in found.waiters], [waiting.id])
            listed = [each for each in self.client.list(self.name).locks if each.name == self.name]
            self.assertEqual([each.token for each in listed], [lock.fence])
        coming.result(PATIENCE).release()
        self.assert_number(6024, self.session().acquire, self.name, note=b"x" * 513)


class Reads(ClusterTest):
    def test_R3_R4_R5_a_read_is_as_fresh_as_asked(self):
        with self.session().acquire(self.name) as lock:
            for consistency in gcoord.Consistency:
                # Bounded and serializable ones may be of a moment ago.
                how = {"max_staleness": PATIENCE} if consistency is gcoord.Consistency.BOUNDED else {}
                reading = self.client.read(self.name, consistency, **how)
                if consistency not in (gcoord.Consistency.BOUNDED, gcoord.Consistency.SERIALIZABLE):
                    self.assertEqual(reading.lock.token, lock.fence)
            mine = self.client.read_check(self.name, lock.fence, gcoord.Consistency.MONOTONIC)
            self.assertEqual(mine.verdict, Verdict.VALID)
            self.assertIn(mine.at.shard, [place.shard for place in self.client.positions()])
            # Another program goes on from there.
            with gcoord.Client(ENDPOINTS) as other:
                seen = other.read(self.name, gcoord.Consistency.MONOTONIC, after=self.client.positions())
                self.assertEqual(seen.lock.token, lock.fence)
        self.assert_number(1001, self.client.read, self.name, 9)
        self.assert_number(1001, self.client.read, self.name, gcoord.Consistency.BOUNDED, max_staleness=-1)

    def test_R7_many_names_in_one_call(self):
        session, names = self.session(), [f"{self.name}/{number}" for number in range(50)]
        tokens = {name: session.acquire_async(name) for name in names[:49]}
        locks = {name: coming.result(PATIENCE) for name, coming in tokens.items()}
        read = self.client.read_batch(names, gcoord.Consistency.LINEARIZABLE)
        self.assertEqual([each.token for each in read.answers[:49]], [locks[name].fence for name in names[:49]])
        self.assertIsNone(read.answers[49])
        self.assertGreater(len(read.shards), 1)
        checked = self.client.read_check_batch([(name, lock.fence) for name, lock in locks.items()])
        self.assertEqual(set(checked.answers), {Verdict.VALID})
        found, page = [], self.client.read_list(self.name, limit=20)
        while True:
            found += page.page.locks
            if not page.page.next_cursor:
                break
            page = self.client.read_list(self.name, page.page.next_cursor, 20, node_id=page.node_id)
        self.assertLessEqual(len(found), 49)
        self.assert_number(1110, self.client.list, cursor="zz")


class Sessions(ClusterTest):
    def test_S1_S4_S5_a_session_is_granted_shown_and_revoked(self):
        with self.client.grant_session(ttl=60) as session:
            lock = session.acquire(self.name)
            shown = self.client.session(session.id)
            self.assertEqual((shown.alive, shown.granted, shown.ttl, shown.keys), (True, True, 60, [self.name]))
            self.assert_number(6301, self._grant_the_same)
            lock.release()
        while self.client.session(session.id).alive:
            pass  # A leader that has just changed lets it run out.
        self.assert_number(6302, self.client.grant_session, session_id=2**48)

    def _grant_the_same(self) -> None:
        with self.client.grant_session(session_id=4711):
            self.client.grant_session(session_id=4711)

    def test_S2_S6_a_session_is_renewed_and_listed(self):
        with self.client.grant_session(ttl=60) as session:
            self.assertTrue(self.client.keep_alive_once(session.id).alive)
            self.assertLess(self.client.keep_alive_once(12345).remaining, 0)
            found, page = [], self.client.list_sessions(limit=100)
            while True:
                found += page.sessions
                if not page.next_cursor:
                    break
                page = self.client.list_sessions(page.next_cursor, limit=100)
            self.assertIn(session.id, [each.session_id for each in found])

    def test_a_session_is_attached_to_and_a_lock_is_released_by_its_token(self):
        session = self.session()
        lock = session.acquire(self.name)
        attached = self.client.attach_session(session.id, ttl=60, first_sequence=10**6)
        attached.release(self.name, lock.fence)
        self.assert_number(6002, attached.release, self.name, lock.fence)
        attached.detach()

    def test_S11_a_session_is_bound_to_checks(self):
        self.assertIsInstance(
            self.assert_number(6350, self.session, checks=[gcoord.HealthCheck("command:exit 3")]), gcoord.CheckFailing)
        for what in ("command:", "https://localhost/", "tcp:here", "ping"):
            self.assert_number(6352, self.session, checks=[gcoord.HealthCheck(what)])
        self.assert_number(6352, self.session, checks=[gcoord.HealthCheck("command:true", interval=0)])
        self.assert_number(6352, self.session, checks=[gcoord.HealthCheck("command:true", failures=0)])
        host, port = ENDPOINTS.split(",")[0].rsplit(":", 1)
        reports: "queue.Queue[gcoord.CheckReport]" = queue.Queue()
        events: "queue.Queue[SessionEvent]" = queue.Queue()
        folder = tempfile.mkdtemp()
        self.addCleanup(os.rmdir, folder)
        flag = os.path.join(folder, "healthy")
        with open(flag, "w"):
            pass
        session = self.session(
            checks=[gcoord.HealthCheck(f"tcp:{host}:{port}"),
                    gcoord.HealthCheck(f"command:test -e {flag}", interval=0.1, failures=2)],
            on_unhealthy=gcoord.UnhealthyAction.CLOSE, on_report=reports.put, on_event=events.put)
        lock = session.acquire(self.name)
        self.assertTrue(session.healthy)
        os.remove(flag)
        first, second = reports.get(timeout=PATIENCE), reports.get(timeout=PATIENCE)
        self.assertEqual((first.check, first.passing, first.session_healthy), (1, False, True))
        self.assertEqual((second.failures_in_row, second.session_healthy), (2, False))
        self.assertEqual(second.evidence, "exit code 1")
        self.assertEqual([events.get(timeout=PATIENCE) for _ in range(2)], [SessionEvent.JEOPARDY, SessionEvent.EXPIRED])
        self.assertFalse(lock.valid)
        self.session().acquire(self.name, wait=PATIENCE).release()


class Observers(ClusterTest):
    def test_E4_leaders_are_told_one_after_the_other(self):
        first, second = self.session().election(self.name), self.session().election(self.name)
        first.campaign(value=b"a")
        with self.client.observe(self.name) as stream:
            office = stream.next(PATIENCE)
            self.assertEqual((office.epoch, office.value), (first.epoch, b"a"))
            self.assertIsNone(stream.next(0))
            waiting = second.campaign_async(value=b"b")
            while self.client.leader(self.name).waiter_count == 0:
                pass
            first.resign()
            waiting.result(PATIENCE)
            office = next(iter(stream))
            self.assertEqual((office.epoch, office.value), (second.epoch, b"b"))
        second.detach()
        self.assertFalse(second.is_leader())


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


class BadArguments(ClusterTest):
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
