"""Groups, their views, barriers and rendezvous, with threads and with asyncio."""

import asyncio
import threading
import unittest

import gcoord
import gcoord.aio

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


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

    def test_a_rendezvous_gives_all_the_same_round_and_members_see_who_waits(self):
        sessions = [self.session() for _ in range(3)]
        parts = [session.rendezvous(self.name) for session in sessions]
        states = self.client.rendezvous_states(self.name)
        empty = states.now()
        self.assertEqual((empty.round, empty.size, empty.waiting), (0, 0, 0))
        first = parts[0].join_async(2, 2, timeout=PATIENCE, payload=b"a\0")
        self.assertEqual(states.after(empty.version, PATIENCE).waiting, 1)
        self.assert_number(6414, parts[1].join, 2, 3)
        second = parts[1].join(2, 2, timeout=PATIENCE, payload=b"b")
        self.assertEqual((second.rank, second.world_size), (1, 2))
        self.assertEqual(second.members, (gcoord.RendezvousMember(sessions[0].id, b"a\0"),
                                          gcoord.RendezvousMember(sessions[1].id, b"b")))
        self.assertEqual(first.result(PATIENCE), gcoord.RendezvousRound(second.round, 0, second.members))
        third = parts[2].join_async(3, 3, timeout=PATIENCE)
        waiting = states.now()
        while waiting.waiting == 0:
            waiting = states.after(waiting.version, PATIENCE)
        self.assertEqual(waiting.alive, (0, 1))
        futures = [part.join_async(3, 3, timeout=PATIENCE) for part in parts[:2]]
        rounds = [future.result(PATIENCE) for future in (*futures, third)]
        self.assertEqual([each.rank for each in rounds], [0, 1, 2])
        self.assertEqual({each.round for each in rounds}, {rounds[0].round})
        self.assertGreater(rounds[0].round, second.round)
        parts[1].leave()
        self.assertEqual(states.now().alive, (0, 2))
        self.assert_number(6417, parts[1].leave)
        late = self.assert_number(6415, parts[1].join, 2, 2, timeout=0.05)
        self.assertIn("1 of at least 2 had come", str(late))

    def test_with_asyncio_groups_wait_in_no_thread(self):
        async def use(client):
            views = client.group_views(self.name)
            first = await views.next(PATIENCE)
            sessions = [await client.open_session(ttl=60) for _ in range(20)]
            groups = [session.group(self.name) for session in sessions]
            before = threading.active_count()
            joined = [await group.join(str(k), b"here") for k, group in enumerate(groups)]
            self.assertEqual([each.rank for each in joined], list(range(20)))
            waits = [asyncio.ensure_future(group.barrier(20, PATIENCE)) for group in groups[1:]]
            await asyncio.sleep(0)
            self.assertEqual(threading.active_count(), before)
            await groups[0].barrier(20, PATIENCE)
            await asyncio.gather(*waits)
            with self.assertRaises(gcoord.GcoordError) as late:
                await groups[0].barrier(2, 0.05)
            self.assertEqual(late.exception.number, 6407)
            await groups[0].update(b"there")
            await groups[1].leave()
            epochs = []
            async for view in views:
                epochs.append(view.epoch)
                if len(epochs) == 22:
                    break
            self.assertEqual(epochs, list(range(first.epoch + 1, first.epoch + 23)))
            self.assertEqual((await views.now()).epoch, epochs[-1])
            self.assertIsNone(await views.next(0.05))
            parts = [session.rendezvous(self.name) for session in sessions[:3]]
            cancelled = asyncio.ensure_future(parts[2].join(2, 2, timeout=PATIENCE))
            states = client.rendezvous_states(self.name)
            seen = await states.now()
            while seen.waiting == 0:
                seen = await states.after(seen.version, PATIENCE)
            cancelled.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await cancelled
            while seen.waiting != 0:
                seen = await states.after(seen.version, PATIENCE)
            rounds = await asyncio.gather(*(part.join(2, 2, timeout=PATIENCE) for part in parts[:2]))
            self.assertEqual(sorted(each.rank for each in rounds), [0, 1])
            await parts[0].leave()

        async def work():
            async with gcoord.aio.Client(ENDPOINTS, **PATIENTLY) as client:
                await use(client)

        asyncio.run(asyncio.wait_for(work(), 6 * PATIENCE))


if __name__ == "__main__":
    unittest.main()
