"""Groups, their views and their barriers."""

import threading
import unittest

import gcoord

from cluster import PATIENCE, ClusterTest


class Groups(ClusterTest):
    def test_M8_M9_members_are_seen_by_rank_and_each_view_once(self):
        views = self.client.group_views(self.name)
        first = views.next(PATIENCE)
        self.assertEqual(first.members, ())
        sessions = [self.session() for _ in range(2)]
        groups = [session.group(self.name) for session in sessions]
        joined = groups[0].join("a", b"here\0")
        self.assertEqual((joined.epoch, joined.rank), (first.epoch + 1, 0))
        self.assertEqual(groups[1].join("b").rank, 1)
        self.assert_number(6402, self.session().group(self.name).join, "a")
        self.assert_number(6411, groups[1].join, "")
        groups[0].update(b"there")
        groups[0].leave()
        self.assert_number(6404, groups[0].leave)
        seen = [views.next(PATIENCE) for _ in range(4)]
        self.assertEqual([view.epoch for view in seen], [first.epoch + k for k in range(1, 5)])
        self.assertEqual([[member.id for member in view.members] for view in seen],
                         [["a"], ["a", "b"], ["a", "b"], ["b"]])
        self.assertEqual(seen[0].members[0], gcoord.GroupMember(sessions[0].id, "a", b"here\0"))
        self.assertEqual(seen[2].members[0].payload, b"there")
        self.assertFalse(any(view.gap for view in seen))
        self.assertIsNone(views.next(0.05))
        self.assertEqual(views.now(), seen[3])

    def test_a_barrier_lets_all_pass_together_or_says_who_is_missing(self):
        groups = [self.session().group(self.name) for _ in range(3)]
        threads = [threading.Thread(target=group.barrier, args=(3, PATIENCE)) for group in groups[1:]]
        for thread in threads:
            thread.start()
        groups[0].barrier(3, PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
        late = self.assert_number(6407, groups[0].barrier, 2, 0.05)
        self.assertIn("1 of 2 had arrived", str(late))


if __name__ == "__main__":
    unittest.main()
