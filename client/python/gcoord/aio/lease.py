"""Leases, for asyncio."""

from typing import Optional

from .. import lease
from ._bridge import Bridge
from ._pending import Entered
from .events import Events


class Lease(Entered):
    """One name in a session of its own. Made by Client.take_lease; leaving its `async with` block gives it back."""

    def __init__(self, bridge: Bridge, taken: lease.Lease) -> None:
        self._bridge = bridge
        self._lease = taken
        self._events: Optional[Events] = None

    def __repr__(self) -> str:
        return repr(self._lease).replace("<gcoord.", "<gcoord.aio.", 1)

    @property
    def name(self) -> str:
        return self._lease.name

    @property
    def fence(self) -> int:
        return self._lease.fence

    @property
    def session_id(self) -> int:
        return self._lease.session_id

    @property
    def valid(self) -> bool:
        """Whether nobody else can hold it now. Asks no node."""
        return self._lease.valid

    @property
    def remaining(self) -> float:
        return self._lease.remaining

    @property
    def certain_until_ns(self) -> int:
        """A moment of Client.now_ns(); 0 when it is lost."""
        return self._lease.certain_until_ns

    def events(self) -> Events:
        """What happens to it, for `async for`; as Session.events."""
        if self._events is None:
            self._events = Events(self._bridge, self._lease)
        return self._events

    async def renew(self) -> None:
        """Renews it now; it is renewed in the background as well."""
        self._bridge.check_loop()
        await self._bridge.outcome(self._lease.renew_async())

    async def release(self) -> None:
        """Gives it back. A cancelled release is carried out all the same."""
        await self._give_back()

    def detach(self) -> None:
        """Gives nothing back: it lives on for the rest of its TTL."""
        self._lease.detach()

    async def _give_back(self) -> None:
        self._bridge.check_loop()
        releasing = self._lease.release_async()
        self._end_events()
        await self._bridge.outcome(releasing)

    def _let_go(self) -> None:
        self._lease.release_async()
        self._end_events()

    def _end_events(self) -> None:
        if self._events is not None:
            self._events._end()
