"""Reads that say how fresh they must be, and reads of the past."""

import unittest

import gcoord
from gcoord import Verdict

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


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
            with gcoord.Client(ENDPOINTS, **PATIENTLY) as other:
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

    def test_R6_a_lock_is_shown_as_it_was(self):
        session = self.session()
        with session.acquire(self.name) as first:
            index = self.client.get(self.name).acquired_index
        with session.acquire(self.name):
            for node in (0, 1, 2, 3):
                if node:  # It comes as far as this client has seen.
                    self.client.read(self.name, gcoord.Consistency.MONOTONIC, node_id=node)
                past = self.client.read_at(self.name, index, node)
                self.assertEqual((past.lock.token, past.lock.holder_session), (first.fence, session.id))
                self.assertEqual((past.at.shard, past.at.index, past.at.age), (past.lock.shard, index, None))
                self.assertIsNone(self.client.read_at(self.name, index - 1, node).lock)
        self.assert_number(6321, self.client.read_at, self.name, 2**60)
        self.assert_number(1001, self.client.read_at, self.name, 2**64 + index)
        self.assert_number(1101, self.client.read_at, "", index)


if __name__ == "__main__":
    unittest.main()
