"""What a client knows of its cluster, and how it goes about requests."""

import unittest

import gcoord
from gcoord import BreakerState

from cluster import ENDPOINTS, PATIENCE, ClusterTest


class Nodes(ClusterTest):
    def test_all_nodes_are_shown_with_their_breakers(self):
        self.client.wait_for_all_nodes(PATIENCE)
        seen = self.client.cluster()
        self.assertNotEqual(seen.cluster_id, 0)
        self.assertGreater(seen.shard_count, 0)
        self.assertGreater(seen.ttl_max, seen.ttl_min)
        self.assertEqual({(node.connected, node.breaker, node.last_error) for node in seen.nodes},
                         {(True, BreakerState.CLOSED, "")})
        self.assertEqual({node.address for node in seen.nodes}, set(ENDPOINTS.split(",")))

    def test_requests_are_counted(self):
        before = self.client.statistics()
        self.client.check(self.name, 7)
        after = self.client.statistics()
        self.assertGreater(after.requests, before.requests)
        self.assertGreater(after.frames, before.frames)

    def test_how_to_retry_and_when_to_give_up_are_options(self):
        with gcoord.Client(ENDPOINTS, backoff_min=0.001, backoff_max=0.1, retry_budget=5, breaker_failures=3,
                           fail_fast=True) as client:
            self.assertEqual(client.check(self.name, 7), gcoord.Verdict.FREE)
        for wrong in ({"backoff_min": 0}, {"backoff_min": -1}, {"backoff_min": 0.2, "backoff_max": 0.1}):
            self.assert_number(1001, gcoord.Client, ENDPOINTS, **wrong)
        self.assert_number(1001, self.client.wait_for_all_nodes, -1)


if __name__ == "__main__":
    unittest.main()
