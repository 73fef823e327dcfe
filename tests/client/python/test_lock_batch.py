"""Many locks in one call: what came of each name, releases, refusals, and cancelled waits."""

import asyncio
import gc
import unittest

import gcoord
import gcoord.aio

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


class LockBatches(ClusterTest):
    def names(self, count: int) -> "list[str]":
        return [f"{self.name}/{number}" for number in range(count)]

    def test_each_name_has_its_result(self):
        session, names = self.session(), self.names(64)
        with self.session().acquire(names[7]):
            with session.acquire_many(names) as batch:
                self.assertEqual(batch.names, names)
                self.assertEqual(list(batch.fences), names[:7] + names[8:])
                self.assertEqual({name: error.number for name, error in batch.failures.items()}, {names[7]: 6001})
                self.assertIsInstance(batch.failures[names[7]], gcoord.LockBusy)
                self.assertIsNone(batch.fence(names[7]))
                self.assertTrue(batch.valid(names[0]))
                self.assertFalse(batch.valid(names[7]) or batch.valid("another"))
                self.assertFalse(batch.already_held(names[0]))
                self.assertEqual(self.client.check(names[0], batch.fence(names[0])), gcoord.Verdict.VALID)
                again = session.acquire_many(names[:2])
                self.assertTrue(again.already_held(names[0]))
                again.detach()
            self.assertFalse(batch.valid(names[0]))
            self.assertEqual(batch.fences, {})
            self.session().try_acquire(names[0]).release()

    def test_releases_by_name_and_token(self):
        session, names = self.session(), self.names(3)
        batch = session.acquire_many(names)
        tokens = batch.fences
        batch.detach()
        released = session.release_many({**tokens, names[1]: tokens[names[1]] + 1})
        self.assertEqual(list(released), names)
        self.assertIsNone(released[names[0]])
        self.assertEqual(released[names[1]].number, 6003)
        self.assertIsNone(session.release_many_async({names[1]: tokens[names[1]]}).result(PATIENCE)[names[1]])

    def test_a_batch_that_is_lost_sight_of_is_released(self):
        names = self.names(3)
        session = self.session()
        session.acquire_many(names)
        gc.collect()
        self.session().acquire_many(names, wait=PATIENCE).release()
        session.close()

    def test_what_is_refused_sends_nothing(self):
        session, names = self.session(), self.names(2)
        self.assert_number(6705, session.acquire_many, [])
        self.assert_number(6707, session.acquire_many, [names[0], names[1], names[0]])
        self.assert_number(6706, session.acquire_many, self.names(4097))
        error = self.assert_number(1101, session.acquire_many, [names[0], ""])
        self.assertIn("name 2 of the batch", str(error))
        self.assert_number(6705, session.release_many, {})
        self.assert_number(1001, session.release_many, {names[0]: -1})
        self.assert_number(1001, session.acquire_many, [7])

    def test_a_renewal_says_until_when(self):
        session = self.session(ttl=30)
        before = self.client.now_ns()
        until = session.renew_until()
        self.assertEqual(until, session.certain_until_ns)
        self.assertGreater(until, before + 20 * 10**9)

    def test_a_cancelled_batch_leaves_its_queues(self):
        names = self.names(2)
        with self.session().acquire(names[1]):
            future = self.session().acquire_many_async(names, wait=None)
            self.assertTrue(future.cancel())
            self.session().acquire(names[0], wait=PATIENCE).release()
        self.session().acquire(names[1], wait=PATIENCE).release()

    def test_asyncio(self):
        names = self.names(40)

        async def main() -> None:
            async with gcoord.aio.Client(ENDPOINTS, **PATIENTLY) as client:
                async with client.open_session(ttl=60) as session:
                    async with session.acquire_many(names) as batch:
                        self.assertEqual(list(batch.fences), names)
                        self.assertEqual((batch.names, batch.failures), (names, {}))
                        self.assertTrue(batch.valid(names[3]))
                        self.assertFalse(batch.already_held(names[3]))
                        tokens = batch.fences
                        batch.detach()
                    released = await session.release_many(tokens)
                    self.assertEqual(released, dict.fromkeys(names))
                    self.assertEqual(await session.renew_until(), session.certain_until_ns)
                    held = await session.acquire_many(names[:1])
                    self.assertEqual(held.fence(names[0]), held.fences[names[0]])
                    self.assertIn("1 of 1 held", repr(held))
                    await held.release()

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
