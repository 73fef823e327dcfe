"""What operators do to locks: taking them by force, and moving them."""

import queue
import unittest

import gcoord
from gcoord import SessionEvent, Verdict

from cluster import PATIENCE, ClusterTest


class Operators(ClusterTest):
    def test_a_broken_hold_has_a_number_of_its_own(self):
        events: "queue.Queue[SessionEvent]" = queue.Queue()
        session = self.session(on_event=events.put)
        lock = session.acquire(self.name)
        broken = self.client.break_lock(self.name, "ann@ops", "it hangs")
        self.assertEqual((broken.session_id, broken.token), (session.id, lock.fence))
        self.assert_number(6030, self.client.check, self.name, lock.fence)
        while events.empty():
            session.renew()  # The nodes say so in their answers.
        self.assertEqual(events.get(timeout=PATIENCE), SessionEvent.LOCK_LOST)
        self.assertFalse(lock.valid)
        self.assertTrue(session.alive)
        self.assertIsInstance(self.assert_number(6030, lock.release), gcoord.HoldBroken)

    def test_L19_a_held_lock_moves_and_its_holder_keeps_it(self):
        waiting = self.session()
        with self.session().acquire(self.name) as lock:
            coming = waiting.acquire_async(self.name)
            while self.client.get(self.name).waiter_count == 0:
                pass
            home = self.client.get(self.name).shard
            away = home ^ 1  # Of an even number of shards.
            self.client.move_lock(self.name, away)
            moved = self.client.get(self.name)
            self.assertEqual((moved.shard, moved.token, moved.waiter_count), (away, lock.fence, 1))
            self.assertTrue(lock.valid)
            self.assertEqual(self.client.check(self.name, lock.fence), Verdict.VALID)
            self.client.move_lock(self.name, home)
            self.assertEqual(self.client.get(self.name).shard, home)
        with coming.result(PATIENCE) as second:
            self.assertGreater(second.fence, lock.fence)

    def test_L19_what_cannot_move_says_why(self):
        self.assert_number(6002, self.client.move_lock, self.name, 0)
        with self.session().acquire(self.name, note=b"x"):
            away = self.client.get(self.name).shard ^ 1
            self.assert_number(6053, self.client.move_lock, self.name, away)
            self.assert_number(1112, self.client.move_lock, self.name, 2**32 - 1)
            self.assert_number(1001, self.client.move_lock, self.name, 2**32 + away)
        self.assert_number(1101, self.client.move_lock, "", 0)


if __name__ == "__main__":
    unittest.main()
