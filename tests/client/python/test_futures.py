"""Calls that do not wait: futures, and coroutines over them."""

import asyncio
import queue
import unittest
from typing import Any
from unittest import mock

import gcoord
from gcoord import Verdict

from cluster import PATIENCE, ClusterTest


class Futures(ClusterTest):
    def test_a_coroutine_holds_renews_looks_and_gives_back(self):
        session = self.session()

        async def work() -> None:
            lock = await asyncio.wrap_future(session.acquire_async(self.name))
            self.assertGreater(lock.certain_until_ns, self.client.now_ns())
            self.assertLessEqual(lock.certain_until_ns, session.certain_until_ns)
            await asyncio.wrap_future(session.renew_async())
            seen = await asyncio.wrap_future(self.client.get_async(self.name, waiters=True))
            self.assertEqual((seen.token, seen.session_id), (lock.fence, session.id))
            await asyncio.wrap_future(lock.release_async())
            self.assertFalse(lock.valid)
            self.assertEqual(await asyncio.wrap_future(self.client.check_async(self.name, lock.fence)), Verdict.FREE)
            again = await asyncio.wrap_future(session.acquire_async(self.name))
            await asyncio.wrap_future(session.release_async(self.name, again.fence))
            both = await asyncio.wrap_future(session.acquire_all_async([self.name + "/1", self.name + "/2"]))
            await asyncio.wrap_future(both.release_async())
            self.assertFalse(both.valid)
            await asyncio.wrap_future(session.close_async())
            self.assertFalse(session.alive)

        asyncio.run(work())

    def test_E2_a_leader_says_a_value_and_resigns(self):
        session, other = self.session(), self.session()
        election, waiting = session.election(self.name), other.election(self.name)
        self.assert_number(6110, election.proclaim_async(b"early").result, PATIENCE)
        with self.assertRaises(gcoord.ElectionVacant):
            self.client.leader_async(self.name).result(PATIENCE)
        election.campaign_async().result(PATIENCE)
        election.proclaim_async(b"a:1\0").result(PATIENCE)
        leader = self.client.leader_async(self.name).result(PATIENCE)
        self.assertEqual((leader.session_id, leader.epoch), (session.id, election.epoch))
        self.assertEqual(self.client.candidates(self.name).leader.value, b"a:1\0")
        session.proclaim_async(self.name, election.epoch, b"a:2").result(PATIENCE)
        self.assertEqual(self.client.candidates(self.name).leader.value, b"a:2")
        self.assert_number(6111, election.transfer_async(other.id).result, PATIENCE)
        leads = waiting.campaign_async()
        while self.client.leader(self.name).waiter_count == 0:
            pass
        election.resign_async().result(PATIENCE)
        leads.result(PATIENCE)
        self.assertTrue(waiting.is_leader())

    def test_a_lease_is_renewed_and_given_back(self):
        lease = self.client.take_lease_async(self.name, ttl=60).result(PATIENCE)
        lease.renew_async().result(PATIENCE)
        lease.release_async().result(PATIENCE)
        self.assertFalse(lease.valid)
        with self.client.take_lease(self.name, ttl=60, wait=PATIENCE) as next_lease:
            self.assertGreater(next_lease.fence, lease.fence)

    def test_S11_a_lease_is_bound_to_checks(self):
        with self.assertRaises(gcoord.CheckFailing):
            self.client.take_lease(self.name, checks=[gcoord.HealthCheck("command:exit 1")])
        reports = []
        with self.client.take_lease(self.name, ttl=60, wait=0, checks=[gcoord.HealthCheck("command:true")],
                                    on_report=reports.append) as lease:
            self.assertTrue(lease.valid)

    def test_what_comes_for_a_future_that_was_cancelled_is_given_back(self):
        session, other = self.session(), self.session()
        held = session.acquire(self.name)
        waiting = other.acquire_async(self.name)
        while self.client.get(self.name).waiter_count == 0:
            pass
        self.assertTrue(waiting.cancel())
        told: "queue.Queue[Any]" = queue.Queue()
        with mock.patch("sys.unraisablehook", told.put):
            held.release()
            session.acquire(self.name, wait=PATIENCE).release()  # Other's came, and went again.
        self.assertTrue(other.alive)
        self.assertTrue(told.empty())

    def test_failures_come_with_the_future_and_mistakes_at_once(self):
        session = self.session()
        self.assert_number(6016, self.client.get_async(self.name).result, PATIENCE)
        self.assert_number(1101, self.client.get_async("").result, PATIENCE)
        self.assert_number(6008, session.release_async(self.name, 7).result, PATIENCE)
        self.assert_number(1001, session.release_async, self.name, -1)
        self.client.close()
        self.assert_number(4010, session.renew_async().result, PATIENCE)


if __name__ == "__main__":
    unittest.main()
