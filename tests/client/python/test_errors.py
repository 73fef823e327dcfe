"""Mistakes of the caller, and the number of each."""

import unittest

import gcoord
from gcoord import Verdict

from cluster import ClusterTest


class BadInput(ClusterTest):
    def test_each_mistake_has_its_number(self):
        session = self.session()
        held = session.acquire(self.name)
        other = session.acquire(self.name + "/other")
        for number, function, *arguments in [
                (1101, session.try_acquire, ""),
                (1102, session.try_acquire, "x" * 1025),
                (1103, session.try_acquire, "\udcff"),
                (1114, session.try_acquire, "a\n"),
                (1106, session.acquire, self.name, 25 * 3600),
                (1104, self.client.open_session, 0),
                (1104, self.client.open_session, -5),
                (1105, self.client.open_session, 25 * 3600),
                (1101, self.client.check, "", 7),
                (1103, self.client.check, "\udcff", 7),
                (1107, self.client.check, self.name, 0),
                (1101, self.client.get, ""),
                (1101, self.client.break_lock, "", "ann", "it hangs"),
                (6034, self.client.break_lock, self.name, "ann", ""),
                (6002, self.client.break_lock, self.name + "/free", "ann", "it hangs"),
                (6003, self.client.break_lock, self.name, "ann", "it hangs", held.fence + 1000)]:
            with self.subTest(number=number, function=function.__name__):
                self.assert_number(number, function, *arguments)
        # A token of another name is worth nothing.
        self.assertNotEqual(self.client.check(self.name, other.fence + 1000), Verdict.VALID)
        self.assertEqual(self.client.check(self.name, held.fence), Verdict.VALID)


class BadArguments(ClusterTest):
    def test_names(self):
        session = self.session()
        for name, number in (("", 1101), ("x" * 1025, 1102), (b"\xff".decode("utf-8", "surrogateescape"), 1103),
                             ("a\0b", 1114), ("a\nb", 1114)):
            self.assert_number(number, session.acquire, name)
            self.assert_number(number, self.client.check, name, 1)
            self.assert_number(number, self.client.leader, name)
            self.assert_number(number, self.client.take_lease, name)

    def test_times(self):
        self.assert_number(1104, self.client.open_session, ttl=0)
        self.assert_number(1104, self.client.open_session, ttl=-1)
        self.assert_number(1105, self.client.open_session, ttl=1e9)
        self.assert_number(1106, self.session().acquire, self.name, wait=1e9)
        self.assert_number(1001, self.session().acquire, self.name, wait=-1)

    def test_tokens(self):
        self.assert_number(1107, self.client.check, self.name, 0)
        self.assertEqual(self.client.check(self.name, 2**64 - 1), Verdict.FREE)

    def test_clusters_that_are_not_there(self):
        self.assert_number(1002, gcoord.Client, "")
        with self.assertRaises(gcoord.Unreachable):
            gcoord.Client("127.0.0.1:1", connect_timeout=1)

    def test_objects_after_their_end(self):
        session = self.session()
        with session.acquire(self.name) as lock:
            pass
        lock.release()
        self.client.close()
        self.assert_number(4010, session.renew)
        with self.assertRaises(ValueError):
            self.client.check(self.name, 1)


if __name__ == "__main__":
    unittest.main()
