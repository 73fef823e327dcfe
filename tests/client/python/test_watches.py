"""Watches."""

import queue
import threading
import time
import unittest

import gcoord

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


class Watches(ClusterTest):
    def progress(self, watch):
        """How far the watch is, when the node that it is at has applied what this client has written."""
        written = self.client.positions()
        while True:
            places = watch.progress(PATIENCE)
            if all(places.get(place.shard, place.index) >= place.index for place in written):
                return places

    def assert_reached(self, watch, places):
        reached = watch.revisions()
        self.assertEqual([shard for shard in places if reached[shard] < places[shard]], [])

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

    def test_W2_another_watch_goes_on_where_this_one_has_come(self):
        session = self.session()
        with self.client.watch(prefix=self.name) as watch:
            session.acquire(self.name + "/1").release()
            places = self.progress(watch)
            told = []
            while (batch := watch.next(0)) is not None:  # All of it is here.
                told.extend(event.kind for event in batch.events)
            self.assertEqual(told, [gcoord.EventKind.GRANTED, gcoord.EventKind.RELEASED])
            self.assert_reached(watch, places)
            start = {shard: revision + 1 for shard, revision in places.items()}
        session.acquire(self.name + "/2")
        with self.client.watch(prefix=self.name, start=start) as again:
            self.assertEqual(again.next(PATIENCE).events[0].name, self.name + "/2")

    def test_W2_a_callback_is_told_each_batch_and_why_none_comes_any_more(self):
        told, ends = queue.Queue(), queue.Queue()
        client = gcoord.Client(ENDPOINTS, **PATIENTLY)
        watch = client.watch(self.name, on_batch=told.put, on_end=ends.put)
        lock = self.session().acquire(self.name)
        batch = told.get(timeout=PATIENCE)
        self.assertEqual((batch.events[0].kind, batch.events[0].token), (gcoord.EventKind.GRANTED, lock.fence))
        watch.progress(PATIENCE)
        self.assertGreaterEqual(min(watch.revisions().values()), batch.revision)
        self.assert_number(6204, watch.next)
        client.close()
        self.assertEqual(ends.get(timeout=PATIENCE).number, 4010)
        self.assertEqual(watch.first_revision(), (0, 0))

    def test_W2_a_callback_may_close_its_watch_and_what_blocks_is_refused_there(self):
        heard = queue.Queue()

        def on_batch(batch: gcoord.Batch) -> None:
            try:
                made.get(timeout=PATIENCE).progress()
            except gcoord.GcoordError as refused:
                heard.put(refused.number)
            watch.close()

        made = queue.Queue()
        watch = self.client.watch(self.name, on_batch=on_batch)
        made.put(watch)
        self.session().acquire(self.name).release()
        self.assertEqual(heard.get(timeout=PATIENCE), 4011)
        self.assert_number(6207, watch.progress)

    def test_a_full_queue_stops_the_stream_and_nothing_is_lost(self):
        with self.client.watch(self.name, queue_bytes_max=1) as watch:
            session = self.session()
            fences = []
            for _ in range(20):
                with session.acquire(self.name) as lock:
                    fences.append(lock.fence)
            granted = [watch.next(PATIENCE).events[0].token for _ in range(40)][::2]
        self.assertEqual(granted, fences)

    def test_W2_only_events_of_the_wanted_kinds_are_told(self):
        session = self.session()
        with self.client.watch(self.name, kinds=[gcoord.EventKind.RELEASED]) as watch:
            lock = session.acquire(self.name)
            self.assertIsNone(watch.next(0.01))
            lock.release()
            # Kept, since a lock that is lost sight of is released: that would be told too.
            kept = session.acquire(self.name)
            told = watch.next(PATIENCE)
            self.assertEqual([event.kind for event in told.events], [gcoord.EventKind.RELEASED])
            places = self.progress(watch)
            self.assertIsNone(watch.next(0))
            self.assert_reached(watch, places)
            self.assertGreater(max(places.values()), told.revision)
            kept.release()
        for wrong in (0, 8, 31, 32, -1):
            self.assert_number(6204, self.client.watch, self.name, kinds=[wrong])

    def test_W2_what_was_held_before_is_told_to_who_asks(self):
        hold, nothing = gcoord.PreviousKind.HOLD, gcoord.PreviousKind.NOTHING
        first, second = self.session(), self.session()
        with self.client.watch(self.name, previous=True) as watch, self.client.watch(self.name) as plain:
            lock = first.acquire(self.name, note=b"one")
            waits = second.acquire_async(self.name)
            while not self.client.get(self.name).waiter_count:
                pass
            lock.release()
            last = waits.result(PATIENCE)
            granted, passed_on = watch.next(PATIENCE), watch.next(PATIENCE)
            self.assertEqual([event.previous.kind for event in granted.events], [nothing])
            before = gcoord.Previous(hold, lock.fence, first.id, b"one")
            self.assertEqual([event.previous for event in passed_on.events], [before, before])
            self.assertEqual(plain.next(PATIENCE).events[0].previous, gcoord.Previous())
            last.release()

    def test_options_that_cannot_be_meant(self):
        self.assert_number(1001, self.client.watch, self.name, progress_interval=-1)
        with self.client.watch(self.name, progress_interval=0) as watch:
            self.assert_number(1001, watch.progress, -1)

    def test_what_names_nothing_is_refused(self):
        self.assert_number(6204, self.client.watch)


if __name__ == "__main__":
    unittest.main()
