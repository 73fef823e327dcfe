"""What a client knows of its cluster, and of itself."""

import ctypes
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from . import _library as lib
from .types import BreakerState, ClientStatistics, ClusterView, NodeView


class _Facts(ctypes.Structure):
    _fields_ = [("cluster_id", c_uint64), ("shard_count", c_uint32), ("tick_ms", c_int64),
                ("election_timeout_ms", c_int64), ("ttl_min_ms", c_int64), ("ttl_max_ms", c_int64)]


class _Node(ctypes.Structure):
    _fields_ = [("node_id", c_uint32), ("address", c_char_p), ("connected", c_bool), ("breaker", c_int32),
                ("last_error", c_char_p)]


class _Statistics(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in ("requests", "frames", "retries", "redirects", "moves", "reconnects")]


# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_cluster_look": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(lib.Error)]),
    "gcoord_cluster_view_free": (None, [c_void_p]),
    "gcoord_cluster_view_facts": (_Facts, [c_void_p]),
    "gcoord_cluster_view_nodes": (c_size_t, [c_void_p]),
    "gcoord_cluster_view_node": (_Node, [c_void_p, c_size_t]),
    "gcoord_client_wait_for_all_nodes": (c_int32, [c_void_p, c_int64, POINTER(lib.Error)]),
    "gcoord_client_wait_for_all_nodes_async": (
        c_int32, [c_void_p, c_int64, lib.DoneCallback, c_void_p, POINTER(lib.Error)]),
    "gcoord_client_statistics": (c_int32, [c_void_p, POINTER(_Statistics), POINTER(lib.Error)]),
})


def _node(seen: _Node) -> NodeView:
    return NodeView(seen.node_id, seen.address.decode("utf-8", "replace"), seen.connected, BreakerState(seen.breaker),
                    seen.last_error.decode("utf-8", "replace"))


class Nodes:
    """What Client offers for looking at its connections. Its handle is the client's."""

    def _pointer(self) -> int:
        raise NotImplementedError

    def cluster(self) -> ClusterView:
        """The cluster as this client sees it now; asks no node."""
        library, view = lib.library(), c_void_p()
        lib.call("gcoord_cluster_look", self._pointer(), byref(view))
        try:
            facts = library.gcoord_cluster_view_facts(view)
            nodes = [_node(library.gcoord_cluster_view_node(view, k))
                     for k in range(library.gcoord_cluster_view_nodes(view))]
            return ClusterView(facts.cluster_id, facts.shard_count, facts.tick_ms / 1000,
                               facts.election_timeout_ms / 1000, facts.ttl_min_ms / 1000, facts.ttl_max_ms / 1000, nodes)
        finally:
            library.gcoord_cluster_view_free(view)

    def statistics(self) -> ClientStatistics:
        """Counted since the client was connected."""
        counted = _Statistics()
        lib.call("gcoord_client_statistics", self._pointer(), byref(counted))
        return ClientStatistics(counted.requests, counted.frames, counted.retries, counted.redirects, counted.moves,
                                counted.reconnects)

    def wait_for_all_nodes(self, timeout: float = 5.0) -> None:
        """Returns when every node of the cluster is connected; Unreachable at the timeout."""
        lib.call("gcoord_client_wait_for_all_nodes", self._pointer(), lib.milliseconds(timeout))

    def wait_for_all_nodes_async(self, timeout: float = 5.0) -> "Future[None]":
        return lib.start_done("gcoord_client_wait_for_all_nodes_async", self, self._pointer(), lib.milliseconds(timeout))
