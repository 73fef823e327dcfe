"""Elections, for asyncio."""

from typing import Optional

from .. import election
from ._bridge import Bridge
from ._pending import Entered


class Election(Entered):
    """One session's candidacy. Made by Session.election; leaving its `async with` block resigns."""

    def __init__(self, bridge: Bridge, made: election.Election) -> None:
        self._bridge = bridge
        self._election = made

    def __repr__(self) -> str:
        return repr(self._election).replace("<gcoord.", "<gcoord.aio.", 1)

    async def __aenter__(self) -> "Election":
        return self

    @property
    def name(self) -> str:
        return self._election.name

    @property
    def epoch(self) -> int:
        """Fencing token of the last term of office that this candidate won; 0 before the first."""
        return self._election.epoch

    @property
    def leader_until_ns(self) -> int:
        """Until when it leads for certain, by Client.now_ns(); 0 when it does not."""
        return self._election.leader_until_ns

    def is_leader(self, now_ns: Optional[int] = None) -> bool:
        """Now, or at a moment of Client.now_ns(). False before a node could elect another. Asks no node."""
        return self._election.is_leader(now_ns)

    async def campaign(self, wait: Optional[float] = None, value: bytes = b"", priority: int = 0,
                       hysteresis: Optional[float] = None, review: float = 0) -> None:
        """Waits in line until it leads; arguments are those of gcoord.Election.campaign. Cancelled, it resigns,
        also from a term that it has just won, and leaves the queue at once."""
        self._bridge.check_loop()
        standing = self._election.campaign_async(wait, value, priority, hysteresis, review)
        await self._bridge.outcome(standing, lambda _: self._election.resign_async())

    async def proclaim(self, value: bytes) -> None:
        """Changes what others read of the leader, within its term; GC6110 when it does not lead."""
        self._bridge.check_loop()
        await self._bridge.outcome(self._election.proclaim_async(value))

    async def transfer(self, session_id: int) -> None:
        """Hands over to one of the line; GC6111 when no such candidate waits: then it leads on."""
        self._bridge.check_loop()
        await self._bridge.outcome(self._election.transfer_async(session_id))

    async def resign(self) -> None:
        """Hands over to the next in line; does nothing when it leads no more."""
        await self._give_back()

    def detach(self) -> None:
        """Leaves the office to live with its session."""
        self._election.detach()

    async def _give_back(self) -> None:
        self._bridge.check_loop()
        await self._bridge.outcome(self._election.resign_async())

    def _let_go(self) -> None:
        self._election.resign_async()
