"""Elections, and who sees them."""

import unittest

import gcoord

from cluster import PATIENCE, ClusterTest


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
        first.proclaim("a:ü".encode())
        for wrong in (b"a\0b", b"\xff", b"\x1b[2J"):
            self.assert_number(6028, first.proclaim, wrong)
        waiting = [second.campaign_async(), third.campaign_async(value=b"c", priority=9)]
        while len(self.client.candidates(self.name).candidates) < 2:
            pass
        line = self.client.candidates(self.name)
        self.assertEqual((line.leader.value, line.epoch), ("a:ü".encode(), first.epoch))
        self.assertEqual([(each.session_id, each.priority, each.value) for each in line.candidates],
                         [(sessions[1].id, 0, b""), (sessions[2].id, 9, b"c")])
        with self.assertRaises(gcoord.GcoordError) as caught:
            first.transfer(12345)
        self.assertEqual(caught.exception.number, 6111)
        self.assertTrue(first.is_leader())
        while not waiting[1].done():
            self._ask(sessions[2].id)  # An ask stands for a few seconds.
        waiting[1].result(PATIENCE)
        self.assertTrue(third.is_leader())
        self.assertFalse(first.is_leader())
        self.assertGreater(third.epoch, first.epoch)
        third.transfer(sessions[1].id)
        waiting[0].result(PATIENCE)
        self.assertTrue(second.is_leader())
        self.assertFalse(third.is_leader())

    def _ask(self, session_id: int) -> None:
        try:
            self.client.ask_transfer(self.name, session_id)
        except gcoord.GcoordError as error:
            self.assertEqual(error.number, 6111, "it leads already, and waits no more")

    def test_E7_is_leader_turns_false_by_the_clock_alone(self):
        with self.session(ttl=20).election(self.name) as election:
            election.campaign()
            until = election.leader_until_ns
            self.assertTrue(election.is_leader(until - 1))
            self.assertFalse(election.is_leader(until + 20_000_000_000))
            self.clock.move(self.client, 60)
            self.assertFalse(election.is_leader())


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


if __name__ == "__main__":
    unittest.main()
