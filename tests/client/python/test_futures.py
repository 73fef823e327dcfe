"""Calls that do not wait: futures, and coroutines over them."""

import asyncio
import queue
import unittest
from typing import Any
from unittest import mock

import gcoord
from gcoord import SessionEvent, Verdict

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
        election.proclaim_async(b"a:1").result(PATIENCE)
        leader = self.client.leader_async(self.name).result(PATIENCE)
        self.assertEqual((leader.session_id, leader.epoch), (session.id, election.epoch))
        self.assertEqual(self.client.candidates(self.name).leader.value, b"a:1")
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

    def test_sessions_are_opened_granted_shown_and_renewed(self):
        events: "queue.Queue[SessionEvent]" = queue.Queue()

        async def work() -> gcoord.Session:
            session = await asyncio.wrap_future(self.client.open_session_async(ttl=20, on_event=events.put))
            lock = await asyncio.wrap_future(session.acquire_async(self.name))
            while (shown := await asyncio.wrap_future(self.client.session_async(session.id))).lock_count == 0:
                pass  # The node that is asked has not applied the grant yet.
            self.assertEqual((shown.session_id, shown.ttl, shown.keys), (session.id, 20, [self.name]))
            renewed = await asyncio.wrap_future(self.client.keep_alive_once_async(session.id))
            self.assertTrue(renewed.alive)
            granted = await asyncio.wrap_future(self.client.grant_session_async(ttl=60))
            self.assertTrue((await asyncio.wrap_future(self.client.session_async(granted.id))).granted)
            await asyncio.wrap_future(granted.close_async())
            self.clock.move(self.client, 60)
            self.assertFalse(lock.valid)
            return session

        kept = asyncio.run(work())  # Of one that is lost sight of nothing is told.
        self.assertEqual([events.get(timeout=PATIENCE) for _ in range(2)], [SessionEvent.JEOPARDY, SessionEvent.EXPIRED])
        self.assertFalse(kept.alive)
        opening = self.client.open_session_async(checks=[gcoord.HealthCheck("command:exit 1")])
        self.assertIsInstance(self.assert_number(6350, opening.result, PATIENCE), gcoord.CheckFailing)
        self.assert_number(6302, self.client.grant_session_async(session_id=2**48).result, PATIENCE)
        self.assert_number(6352, self.client.open_session_async, checks=[gcoord.HealthCheck("ping")])

    def test_R4_R6_R7_locks_and_their_past_are_read(self):
        session, names = self.session(), [f"{self.name}/{number}" for number in range(3)]
        locks = [session.acquire(name) for name in names[:2]]
        checks = [(names[0], locks[0].fence), (names[1], locks[1].fence + 1), (names[2], 7)]
        verdicts = [Verdict.VALID, Verdict.STALE, Verdict.FREE]

        async def work() -> None:
            reading = await asyncio.wrap_future(self.client.read_async(names[0], gcoord.Consistency.MONOTONIC))
            self.assertEqual((reading.lock.token, reading.at.shard), (locks[0].fence, reading.lock.shard))
            free = await asyncio.wrap_future(self.client.read_async(names[2], gcoord.Consistency.LINEARIZABLE))
            self.assertIsNone(free.lock)
            index = reading.lock.acquired_index
            past = await asyncio.wrap_future(self.client.read_at_async(names[0], index))
            self.assertEqual((past.lock.token, past.at.index, past.at.age), (locks[0].fence, index, None))
            self.assertIsNone((await asyncio.wrap_future(self.client.read_at_async(names[0], index - 1))).lock)
            checked = await asyncio.wrap_future(self.client.read_check_async(*checks[1]))
            self.assertEqual((checked.verdict, checked.at.shard > 2**31), (Verdict.STALE, False))
            all_read = await asyncio.wrap_future(self.client.read_batch_async(names, gcoord.Consistency.LINEARIZABLE))
            self.assertEqual([each and each.token for each in all_read.answers], [locks[0].fence, locks[1].fence, None])
            self.assertGreater(len(all_read.shards), 0)
            all_checked = await asyncio.wrap_future(self.client.read_check_batch_async(checks))
            self.assertEqual(all_checked.answers, verdicts)
            self.assertEqual(len(all_checked.shards), len(all_read.shards))
            self.assertEqual(await asyncio.wrap_future(self.client.check_batch_async(checks)), verdicts)

        asyncio.run(work())
        self.assert_number(6321, self.client.read_at_async(names[0], 2**60).result, PATIENCE)
        self.assert_number(1101, self.client.read_async("").result, PATIENCE)
        self.assert_number(1001, self.client.read_async, names[0], 9)
        for ask in (self.client.check_batch_async, self.client.check_batch, self.client.read_check_batch):
            self.assert_number(1001, ask, [(names[0], 2**64 + locks[0].fence)])

    def test_what_is_asked_for_nothing_is_answered_with_nothing(self):
        self.assertEqual(self.client.check_batch_async([]).result(PATIENCE), [])
        self.assertEqual(self.client.read_batch_async([]).result(PATIENCE), self.client.read_batch([]))
        self.assertEqual(self.client.read_check_batch_async([]).result(PATIENCE), self.client.read_check_batch([]))

    def test_L15_L19_operators_move_and_break_a_lock(self):
        session = self.session()
        with session.acquire(self.name) as lock:
            home = self.client.get(self.name).shard
            self.client.move_lock_async(self.name, home ^ 1).result(PATIENCE)
            self.assertEqual(self.client.get(self.name).shard, home ^ 1)
            self.assertTrue(lock.valid)
            self.assert_number(1112, self.client.move_lock_async(self.name, 2**32 - 1).result, PATIENCE)
            lock.detach()
        broken = self.client.break_lock_async(self.name, "ann@ops", "it hangs").result(PATIENCE)
        self.assertEqual((broken.session_id, broken.token), (session.id, lock.fence))
        self.assert_number(6034, self.client.break_lock_async(self.name, "ann@ops", "").result, PATIENCE)

    def test_E3_E4_a_line_is_seen_and_a_transfer_asked_for(self):
        session, other = self.session(), self.session()
        election, waiting = session.election(self.name), other.election(self.name)
        self.assert_number(6101, self.client.candidates_async(self.name).result, PATIENCE)
        election.campaign(value=b"a b")
        leads = waiting.campaign_async()
        while self.client.leader(self.name).waiter_count == 0:
            pass
        line = self.client.candidates_async(self.name).result(PATIENCE)
        self.assertEqual((line.leader.session_id, line.leader.value, line.epoch), (session.id, b"a b", election.epoch))
        self.assertEqual([each.session_id for each in line.candidates], [other.id])
        self.assert_number(6111, self.client.ask_transfer_async(self.name, 4711).result, PATIENCE)
        self.client.ask_transfer_async(self.name, other.id, election.epoch).result(PATIENCE)
        session.transfer_async(self.name, election.epoch, other.id).result(PATIENCE)
        leads.result(PATIENCE)

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
