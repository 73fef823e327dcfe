"""Watches, sessions and leases in a program's own event loop."""

import asyncio
import os
import select
import selectors
import unittest

import gcoord
from gcoord import EventKind, SessionEvent

from cluster import ENDPOINTS, PATIENCE, PATIENTLY, ClusterTest


class EventLoops(ClusterTest):
    def is_readable(self, watch, timeout=0):
        return bool(select.select([watch], [], [], timeout)[0])

    def test_row213_selectors_tell_of_the_watch_that_has_something(self):
        session, names = self.session(), [f"{self.name}/{number}" for number in range(3)]
        with selectors.DefaultSelector() as selector:
            watches = {name: self.client.watch(name) for name in names}
            for name, watch in watches.items():
                selector.register(watch, selectors.EVENT_READ, name)
            self.assertEqual(selector.select(0), [])
            fences = {}
            for name in names:
                with session.acquire(name) as lock:
                    fences[name] = lock.fence
            told = {name: [] for name in names}
            while sum(map(len, told.values())) < 6:
                ready = selector.select(PATIENCE)
                self.assertNotEqual(ready, [])
                for key, _ in ready:
                    events = key.fileobj.next(0).events  # Never None: it is readable.
                    told[key.data] += [(event.kind, event.token) for event in events]
            self.assertEqual(told, {name: [(EventKind.GRANTED, fences[name]), (EventKind.RELEASED, fences[name])]
                                    for name in names})
            self.assertEqual(selector.select(0), [])
            watches[names[1]].close()
            (key, _), = selector.select(PATIENCE)
            self.assertEqual(key.data, names[1])
            self.assert_number(6207, key.fileobj.next, 0)
            for watch in watches.values():
                selector.unregister(watch)

    def test_row213_a_backlog_is_readable_to_its_end(self):
        session = self.session()
        with self.client.watch(self.name, queue_bytes_max=1) as watch:
            fd, fences, told = watch.fileno(), [], []
            for _ in range(20):
                with session.acquire(self.name) as lock:
                    fences.append(lock.fence)
            for _ in range(40):
                self.assertTrue(self.is_readable(watch, PATIENCE))
                told += [event.token for event in watch.next(0).events]
            self.assertEqual(told[::2], fences)
            self.assertFalse(self.is_readable(watch))
            self.assertEqual(watch.fileno(), fd)
            self.assertFalse(os.get_inheritable(fd))

    def test_row213_asyncio_is_woken_by_each_batch_and_by_the_end(self):
        session = self.session()

        async def work():
            watch, loop, told = self.client.watch(self.name), asyncio.get_running_loop(), asyncio.Queue()

            def take():
                try:
                    told.put_nowait(watch.next(0).events[0].kind)
                except gcoord.GcoordError as end:
                    loop.remove_reader(watch.fileno())
                    told.put_nowait(end.number)

            loop.add_reader(watch.fileno(), take)
            lock = await asyncio.wrap_future(session.acquire_async(self.name))
            self.assertEqual(await asyncio.wait_for(told.get(), PATIENCE), EventKind.GRANTED)
            await asyncio.wrap_future(lock.release_async())
            self.assertEqual(await asyncio.wait_for(told.get(), PATIENCE), EventKind.RELEASED)
            watch.close()
            self.assertEqual(await asyncio.wait_for(told.get(), PATIENCE), 6207)

        asyncio.run(work())

    def test_row213_a_session_tells_of_a_broken_hold_and_of_its_end(self):
        session = self.session()
        lock = session.acquire(self.name)
        self.assertIsNone(session.next_event())
        self.client.break_lock(self.name, "ann@ops", "it hangs")
        while not self.is_readable(session):
            session.renew()  # The nodes say so in their answers.
        self.assertEqual(session.next_event(), gcoord.LostLock(self.name, lock.fence))
        self.clock.move(self.client, 120)
        self.assertEqual([self.told_by(session) for _ in range(2)], [SessionEvent.JEOPARDY, SessionEvent.EXPIRED])
        self.assertFalse(self.is_readable(session))
        self.assertIsNone(session.next_event())

    def told_by(self, eventful):
        self.assertTrue(self.is_readable(eventful, PATIENCE))
        return eventful.next_event()

    def test_row213_asyncio_hears_of_the_end_of_a_lease(self):
        lease = self.client.take_lease(self.name, ttl=60)

        async def work():
            loop, told = asyncio.get_running_loop(), asyncio.Queue()
            loop.add_reader(lease.fileno(), lambda: told.put_nowait(lease.next_event()))
            await asyncio.wrap_future(lease.renew_async())  # Its thread has heard of the descriptor.
            self.clock.move(self.client, 120)
            self.assertEqual(await asyncio.wait_for(told.get(), PATIENCE), SessionEvent.JEOPARDY)
            self.assertEqual(await asyncio.wait_for(told.get(), PATIENCE), SessionEvent.EXPIRED)
            loop.remove_reader(lease.fileno())

        asyncio.run(work())
        self.assertFalse(lease.valid)

    def test_row213_the_end_of_the_client_is_told(self):
        client = gcoord.Client(ENDPOINTS, **PATIENTLY)
        watch = client.watch(self.name)
        self.assertFalse(self.is_readable(watch))
        client.close()
        self.assertTrue(self.is_readable(watch, PATIENCE))
        self.assert_number(4010, watch.next, 0)

    def test_row213_a_watch_with_a_callback_has_no_descriptor(self):
        with self.client.watch(self.name, on_batch=print) as watch:
            self.assert_number(6204, watch.fileno)


if __name__ == "__main__":
    unittest.main()
