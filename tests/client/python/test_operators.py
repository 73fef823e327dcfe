"""What operators do to locks: taking them by force."""

import queue
import unittest

import gcoord
from gcoord import SessionEvent

from cluster import PATIENCE, ClusterTest


class Operators(ClusterTest):
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


if __name__ == "__main__":
    unittest.main()
