"""Watches."""

import threading
import time
import unittest

import gcoord

from cluster import PATIENCE, ClusterTest


class Watches(ClusterTest):
    def test_a_watch_tells_of_a_grant_and_its_release(self):
        session = self.session()
        with self.client.watch(self.name) as watch:
            with session.acquire(self.name) as lock:
                fence = lock.fence
            granted, released = watch.next(PATIENCE), watch.next(PATIENCE)
        kinds = [(batch.events[0].kind, batch.events[0].token) for batch in (granted, released)]
        self.assertEqual(kinds, [(gcoord.EventKind.GRANTED, fence), (gcoord.EventKind.RELEASED, fence)])
        self.assertEqual(granted.events[0].name, self.name)
        self.assertEqual(granted.events[0].session_id, session.id)
        self.assertLess(granted.revision, released.revision)
        with self.client.watch(self.name, from_revision=granted.revision) as again:
            self.assertEqual(again.next(PATIENCE), granted)
            self.assertEqual(again.next(PATIENCE), released)
            self.assertIsNone(again.next(0.001))

    def test_an_iteration_ends_when_the_watch_is_closed(self):
        session = self.session()
        watch = self.client.watch(prefix=self.name)
        told = []
        reader = threading.Thread(target=lambda: told.extend(batch.events[0].kind for batch in watch))
        reader.start()
        session.acquire(self.name).release()
        deadline = time.monotonic() + PATIENCE
        while len(told) < 2 and time.monotonic() < deadline:
            pass
        watch.close()
        reader.join(PATIENCE)
        self.assertEqual(told, [gcoord.EventKind.GRANTED, gcoord.EventKind.RELEASED])

    def test_what_names_nothing_is_refused(self):
        self.assert_number(6204, self.client.watch)


if __name__ == "__main__":
    unittest.main()
