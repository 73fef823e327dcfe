"""Reads, for asyncio: what Client offers for looking at locks, elections and sessions."""

from typing import Any, Callable, Iterable, List, Optional, Tuple

from .. import client
from ..types import (BatchReading, ClientStatistics, ClusterView, Consistency, Holder, Line, LockDescription, LockPage,
                     LockReading, Position, ReadPage, SessionDescription, SessionFilter, SessionsPage, Verdict,
                     VerdictReading)
from ._bridge import Bridge


class Looks:
    """Arguments and answers are those of the methods of gcoord.Client of the same names."""

    def _connected(self) -> Tuple[client.Client, Bridge]:
        raise NotImplementedError

    async def _ask(self, method: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        connected, bridge = self._connected()
        return await bridge.outcome(method(connected, *arguments, **how))

    async def _ask_in_thread(self, method: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        connected, bridge = self._connected()
        return await bridge.in_thread(lambda: method(connected, *arguments, **how))

    async def get(self, name: str, waiters: bool = False) -> LockDescription:
        """Who holds a lock, linearizably; GC6016 when it is neither held nor waited for."""
        found: LockDescription = await self._ask(client.Client.get_async, name, waiters)
        return found

    async def list(self, prefix: str = "", cursor: str = "", limit: int = 100, *, waiters: bool = False,
                   quorum: bool = False) -> LockPage:
        """The locks of all nodes, page by page."""
        page: LockPage = await self._ask_in_thread(client.Client.list, prefix, cursor, limit, waiters=waiters,
                                                   quorum=quorum)
        return page

    async def read(self, name: str, consistency: Consistency = Consistency.LEASE, *, max_staleness: float = 0,
                   after: Iterable[Position] = (), node_id: int = 0) -> LockReading:
        """A lock as fresh as asked: `max_staleness` of BOUNDED, `after` of MONOTONIC; GC6304, GC6305."""
        reading: LockReading = await self._ask(client.Client.read_async, name, consistency, max_staleness=max_staleness,
                                               after=after, node_id=node_id)
        return reading

    async def read_at(self, name: str, index: int, node_id: int = 0) -> LockReading:
        """A lock as it was when its shard's log had come to an index, which earlier answers name. GC6320 to GC6323."""
        reading: LockReading = await self._ask(client.Client.read_at_async, name, index, node_id)
        return reading

    async def read_batch(self, names: Iterable[str], consistency: Consistency = Consistency.LEASE, *,
                         max_staleness: float = 0, after: Iterable[Position] = (), node_id: int = 0) -> BatchReading:
        """Many in few messages, of any shards; fails as a whole. Answers are descriptions, or None."""
        reading: BatchReading = await self._ask(client.Client.read_batch_async, names, consistency,
                                                max_staleness=max_staleness, after=after, node_id=node_id)
        return reading

    async def read_check(self, name: str, token: int, consistency: Consistency = Consistency.LEASE, *,
                         max_staleness: float = 0, after: Iterable[Position] = (), node_id: int = 0) -> VerdictReading:
        reading: VerdictReading = await self._ask(client.Client.read_check_async, name, token, consistency,
                                                  max_staleness=max_staleness, after=after, node_id=node_id)
        return reading

    async def read_check_batch(self, checks: Iterable[Tuple[str, int]], consistency: Consistency = Consistency.LEASE, *,
                               max_staleness: float = 0, after: Iterable[Position] = (),
                               node_id: int = 0) -> BatchReading:
        reading: BatchReading = await self._ask(client.Client.read_check_batch_async, checks, consistency,
                                                max_staleness=max_staleness, after=after, node_id=node_id)
        return reading

    async def read_list(self, prefix: str = "", cursor: str = "", limit: int = 100,
                        consistency: Consistency = Consistency.SERIALIZABLE, *, max_staleness: float = 0,
                        after: Iterable[Position] = (), node_id: int = 0) -> ReadPage:
        """A page of what one node holds; for the next page name that node, whose cursor it is."""
        page: ReadPage = await self._ask_in_thread(client.Client.read_list, prefix, cursor, limit, consistency,
                                                   max_staleness=max_staleness, after=after, node_id=node_id)
        return page

    async def check(self, name: str, token: int) -> Verdict:
        """Whether the lock is held under this token, linearizably."""
        verdict: Verdict = await self._ask(client.Client.check_async, name, token)
        return verdict

    async def check_batch(self, checks: Iterable[Tuple[str, int]]) -> List[Verdict]:
        """Many in few messages; verdicts come in the order asked."""
        verdicts: List[Verdict] = await self._ask(client.Client.check_batch_async, checks)
        return verdicts

    async def leader(self, name: str) -> Holder:
        """Who leads in an election; ElectionVacant when nobody does."""
        leader: Holder = await self._ask(client.Client.leader_async, name)
        return leader

    async def candidates(self, name: str) -> Line:
        """Who leads in an election, and who stands in line."""
        line: Line = await self._ask(client.Client.candidates_async, name)
        return line

    async def session(self, session_id: int) -> SessionDescription:
        """What is left of a session, and which locks it holds. One that is gone is an answer."""
        described: SessionDescription = await self._ask(client.Client.session_async, session_id)
        return described

    async def list_sessions(self, cursor: str = "", limit: int = 1000, *, filter: SessionFilter = SessionFilter.ALL,
                            remaining_below: Optional[float] = None, count_only: bool = False) -> SessionsPage:
        """Sessions page by page and node by node."""
        page: SessionsPage = await self._ask_in_thread(client.Client.list_sessions, cursor, limit, filter=filter,
                                                       remaining_below=remaining_below, count_only=count_only)
        return page

    async def wait_for_all_nodes(self, timeout: float = 5.0) -> None:
        """Returns when every node of the cluster is connected; Unreachable at the timeout."""
        await self._ask(client.Client.wait_for_all_nodes_async, timeout)

    def cluster(self) -> ClusterView:
        """The cluster as this client sees it now; asks no node."""
        return self._connected()[0].cluster()

    def statistics(self) -> ClientStatistics:
        """Counted since the client was connected."""
        return self._connected()[0].statistics()

    def positions(self) -> List[Position]:
        """How far this client has seen, by its writes and reads."""
        return self._connected()[0].positions()

    def now_ns(self) -> int:
        """The client's clock, with which leases and elections are asked."""
        return self._connected()[0].now_ns()
