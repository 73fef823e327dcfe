"""Mistakes of the caller, and the number of each."""

import unittest

import gcoord
from gcoord import Verdict

from cluster import ENDPOINTS, ClusterTest


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

    def test_times_that_are_no_times(self):
        session = self.session()
        with session.acquire(self.name) as held:
            for number, function, options in (
                    (1105, self.client.open_session, {"ttl": float("inf")}),
                    (1105, self.client.open_session, {"ttl": 1e300}),
                    (1105, self.client.open_session, {"ttl": 10**400}),
                    (1104, self.client.open_session, {"ttl": float("-inf")}),
                    (1001, self.client.open_session, {"ttl": float("nan")}),
                    (1001, self.client.open_session, {"ttl": "ten"}),
                    (1105, self.client.grant_session, {"ttl": float("inf")}),
                    (1001, self.client.grant_session, {"ttl": float("nan")}),
                    (1105, self.client.take_lease, {"name": self.name, "ttl": float("inf")}),
                    (1001, self.client.take_lease, {"name": self.name, "ttl": float("nan")}),
                    (1106, session.acquire, {"name": self.name, "wait": float("inf")}),
                    (1001, session.acquire, {"name": self.name, "wait": float("nan")}),
                    (1001, session.acquire, {"name": self.name, "wait": float("-inf")}),
                    (1001, session.acquire, {"name": self.name, "wait": "long"}),
                    (6032, session.acquire, {"name": self.name + "/2", "delay": float("inf")}),
                    (1001, session.acquire, {"name": self.name, "delay": float("nan")}),
                    (1001, gcoord.Client, {"endpoints": ENDPOINTS, "request_timeout": float("inf")}),
                    (1001, gcoord.Client, {"endpoints": ENDPOINTS, "connect_timeout": float("nan")})):
                with self.subTest(function=function.__name__, **options):
                    self.assert_number(number, function, **options)
            self.assertEqual(self.client.check(self.name, held.fence), Verdict.VALID)
            self.assertEqual(self.client.get(self.name).waiter_count, 0)

    def test_text_and_bytes_that_are_none(self):
        session = self.session()
        for name, number in (("\ud800", 1103), ("a\udfff\ud800", 1103), (b"bytes", 1001), (None, 1001), (7, 1001)):
            with self.subTest(name=name):
                for function in (session.acquire, session.acquire_async, session.election, self.client.leader,
                                 self.client.get, self.client.get_async, self.client.take_lease, self.client.observe):
                    self.assert_number(number, function, name)
                self.assert_number(number, self.client.check, name, 7)
                self.assert_number(number, self.client.break_lock, self.name, name, "it hangs")
        self.assert_number(1103, self.client.watch, "\ud800")
        self.assert_number(1103, gcoord.Client, "\ud800")
        self.assert_number(1114, gcoord.Client, ENDPOINTS + "\0")
        self.assert_number(1103, self.client.open_session, checks=[gcoord.HealthCheck("command:\ud800")])
        election = session.election(self.name)
        election.campaign(value=b"mine")
        for wrong in ("str", None, 7, [1]):
            with self.subTest(value=wrong):
                self.assert_number(1001, election.proclaim, wrong)
                self.assert_number(1001, election.proclaim_async, wrong)
                self.assert_number(1001, session.proclaim, self.name, election.epoch, wrong)
                self.assert_number(1001, session.election(self.name + "/2").campaign, value=wrong)
                self.assert_number(1001, session.acquire, self.name + "/3", note=wrong)
        self.assertEqual(self.client.candidates(self.name).leader.value, b"mine")
        self.assertEqual(self.client.leader(self.name).epoch, election.epoch)
        self.assert_number(6016, self.client.get, self.name + "/3")

    def test_numbers_that_do_not_fit_are_not_cut(self):
        session = self.session()
        for options in ({"priority": -1}, {"priority": 2**32}, {"permits": 2**32 + 1}, {"holds_max": -1}, {"priority": 1.5}):
            with self.subTest(**options):
                self.assert_number(1001, session.acquire, self.name, **options)
        self.assert_number(1001, session.election(self.name).campaign, priority=2**32)
        self.assert_number(1001, self.client.list, limit=-1)
        self.assert_number(1001, self.client.list, limit=2**32 + 1)
        self.assert_number(1001, self.client.watch, self.name, from_revision=-1)
        self.assert_number(1001, self.client.watch, prefix="", start={0: 2**64})
        self.assert_number(1001, self.client.watch, self.name, queue_bytes_max=-1)
        self.assert_number(1001, self.client.grant_session, session_id=2**64)
        self.assert_number(1001, gcoord.Client, ENDPOINTS, cluster_id=-1)
        self.assert_number(1001, gcoord.Client, ENDPOINTS, retry_budget=2**32)
        self.assert_number(6016, self.client.get, self.name)

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
