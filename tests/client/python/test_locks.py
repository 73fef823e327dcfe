"""Locks: plain ones, and all that an acquire may ask for."""

import asyncio
import gc
import queue
import signal
import threading
import unittest

import gcoord
from gcoord import Verdict

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


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

    def waiter_count(self) -> int:
        return self.client.get(self.name).waiter_count

    def test_a_cancelled_wait_leaves_the_queue(self):
        waiting = self.session()
        begin = (lambda: waiting.acquire_async(self.name), lambda: waiting.acquire_all_async([self.name]),
                 lambda: self.client.take_lease_async(self.name, ttl=60))
        with self.session().acquire(self.name):
            for wait in begin:
                coming = wait()
                while self.waiter_count() == 0:
                    pass
                self.assertTrue(coming.cancel())
                while self.waiter_count() != 0:
                    pass

    def test_a_coroutine_that_gives_up_leaves_the_queue(self):
        waiting = self.session()

        async def give_up() -> None:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.wrap_future(waiting.acquire_async(self.name)), 0.05)

        with self.session().acquire(self.name):
            asyncio.run(give_up())
            while self.waiter_count() != 0:
                pass

    def test_an_interrupted_wait_leaves_the_queue(self):
        waiting = self.session()

        def interrupt() -> None:
            while self.waiter_count() == 0:
                pass
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        with self.session().acquire(self.name):
            thread = threading.Thread(target=interrupt)
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                waiting.acquire(self.name)
            thread.join()
            while self.waiter_count() != 0:
                pass

    def test_a_lock_keeps_its_session_alive_and_a_session_its_client(self):
        lock = gcoord.Client(ENDPOINTS, **PATIENTLY).open_session(ttl=60).acquire(self.name)
        gc.collect()
        self.assertTrue(lock.valid)
        self.assertEqual(self.client.check(self.name, lock.fence), Verdict.VALID)
        lock.release()

    def test_the_error_of_a_block_is_the_one_to_hear_of_and_its_lock_is_given_back(self):
        session = self.session()
        for make in (session.acquire, lambda name: session.acquire_all([name]), self.client.take_lease, session.election):
            with self.assertRaises(ZeroDivisionError):
                with make(self.name):
                    raise ZeroDivisionError
        lock = session.acquire(self.name)
        with self.assertRaises(ZeroDivisionError):
            with lock:
                session.release(self.name, lock.fence)  # Its own release would be refused.
                raise ZeroDivisionError
        self.session().acquire(self.name, wait=PATIENCE).release()

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
        holder = self.session(on_lost=events.put)
        lock = holder.acquire(self.name, delay=60)
        self.client.break_lock(self.name, "ann", "it hangs")
        while events.empty():
            holder.renew()  # The nodes say so in their answers.
        self.assertEqual(events.get(timeout=PATIENCE), gcoord.LostLock(self.name, lock.fence))
        self._fail_as_holder()
        self.assert_number(6031, self._refused_when_delayed)

    def _fail_as_holder(self) -> None:
        while True:
            failing = self.session(ttl=0.5)
            try:
                failing.acquire(self.name, delay=60).detach()
            except gcoord.SessionExpired:
                continue  # Before it held the lock, or had heard so: this machine is slow.
            except gcoord.GcoordError as error:
                self.assertEqual(error.number, 6031, str(error))  # One before it held it, and has failed.
                return
            failing.detach()
            return

    def _refused_when_delayed(self) -> None:
        other = self.session()
        while True:
            try:
                other.try_acquire(self.name).release()
            except gcoord.LockBusy:
                continue  # Its session lives yet.
            return

    def test_L20_a_note_is_read_by_others_and_the_line_is_seen(self):
        with self.session().acquire(self.name, note="woß".encode()) as lock:
            waiting = self.session()
            coming = waiting.acquire_async(self.name)
            while self.client.get(self.name).waiter_count == 0:
                pass
            found = self.client.get(self.name, waiters=True)
            self.assertEqual((found.note, found.token, found.name), ("woß".encode(), lock.fence, self.name))
            self.assertEqual([each.session_id for each in found.waiters], [waiting.id])
            listed = [each for each in self.client.list(self.name).locks if each.name == self.name]
            self.assertEqual([each.token for each in listed], [lock.fence])
        coming.result(PATIENCE).release()
        self.assert_number(6024, self.session().acquire, self.name, note=b"x" * 513)
        for wrong in (b"a\0b", b"\xff", b"\x1b[2J", "\u202e".encode()):
            self.assert_number(6028, self.session().acquire, self.name, note=wrong)


if __name__ == "__main__":
    unittest.main()
