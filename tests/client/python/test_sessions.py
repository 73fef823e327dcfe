"""Sessions and leases: granted, shown, bound to checks, and what they tell."""

import os
import queue
import tempfile
import unittest

import gcoord
from gcoord import SessionEvent

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


class Sessions(ClusterTest):
    def test_S1_S4_S5_a_session_is_granted_shown_and_revoked(self):
        with self.client.grant_session(ttl=60) as session:
            lock = session.acquire(self.name)
            while (shown := self.client.session(session.id)).lock_count == 0:
                pass  # The node that is asked has not applied the grant yet.
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
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        flag = os.path.join(folder.name, "healthy")
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
        with gcoord.Client(ENDPOINTS, **PATIENTLY) as other, other.open_session(ttl=60) as holder, holder.acquire(self.name):
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


    def test_the_end_of_a_client_ends_its_sessions_but_not_detached_ones(self):
        other = gcoord.Client(ENDPOINTS, **PATIENTLY)
        lock = other.open_session(ttl=3600).acquire(self.name)
        lease = other.take_lease(self.name + "/lease", ttl=3600)
        kept, session = other.open_session(ttl=3600), self.session()
        kept.acquire(self.name + "/kept").detach()
        kept.detach()
        other.close()
        with session.acquire(self.name, wait=PATIENCE) as next_lock:
            self.assertGreater(next_lock.fence, lock.fence)
        with session.acquire(self.name + "/lease", wait=PATIENCE):
            self.assertFalse(lease.valid)
        with self.assertRaises(gcoord.LockBusy):
            session.try_acquire(self.name + "/kept")


if __name__ == "__main__":
    unittest.main()
