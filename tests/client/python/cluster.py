"""What the tests of the Python package share: a real cluster, whose client ports GCOORD_ENDPOINTS names."""

import os
import time
import unittest

import gcoord

ENDPOINTS = os.environ["GCOORD_ENDPOINTS"]
PATIENCE = 60  # Seconds; no test waits longer for anything. It only bounds a failure.


# Of every client, so that a slow machine only takes longer.
PATIENTLY = {"connect_timeout": PATIENCE, "request_timeout": PATIENCE}


class MovedClock:
    """The system's clock, and what a test adds to it."""

    def __init__(self) -> None:
        self.added_ns = 0

    def __call__(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) + self.added_ns

    def move(self, client: gcoord.Client, seconds: float) -> None:
        self.added_ns += int(seconds * 1e9)
        client.clock_moved()


class ClusterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = MovedClock()
        self.client = gcoord.Client(ENDPOINTS, **PATIENTLY, clock=self.clock)
        self.addCleanup(self.client.close)
        self.name = self.id()

    def session(self, **options) -> gcoord.Session:
        return self.client.open_session(**{"ttl": 60, **options})

    def assert_number(self, number: int, function, *arguments, **options) -> gcoord.GcoordError:
        with self.assertRaises(gcoord.GcoordError) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.number, number, str(caught.exception))
        return caught.exception
