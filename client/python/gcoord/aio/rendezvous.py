"""Rendezvous, for asyncio."""

from .. import rendezvous
from ._bridge import Bridge


class Rendezvous:
    """One session's part in a rendezvous. Made by Session.rendezvous."""

    def __init__(self, bridge: Bridge, made: rendezvous.Rendezvous) -> None:
        self._bridge = bridge
        self._rendezvous = made

    async def join(self, members_min: int, members_max: int, *, last_call: float = 30, timeout: float = 600,
                   payload: bytes = b"") -> rendezvous.RendezvousRound:
        """Waits for a round of this session; arguments are those of gcoord.Rendezvous.join. A cancelled wait is left: the
        session waits no more, and is in no round that was complete meanwhile."""
        self._bridge.check_loop()
        joining = self._rendezvous.join_async(members_min, members_max, last_call=last_call, timeout=timeout,
                                              payload=payload)
        joining.add_done_callback(lambda done: self._rendezvous.leave_async() if done.cancelled() else None)
        return await self._bridge.outcome(joining, lambda _: self._rendezvous.leave_async())

    async def leave(self) -> None:
        """Waits no more, and is out of the last round; GC6417 when it was in neither."""
        self._bridge.check_loop()
        await self._bridge.outcome(self._rendezvous.leave_async())


class RendezvousStates:
    """Who is in the last round of a rendezvous, and who waits. Made by Client.rendezvous_states."""

    def __init__(self, bridge: Bridge, made: rendezvous.RendezvousStates) -> None:
        self._bridge = bridge
        self._states = made

    async def now(self) -> rendezvous.RendezvousState:
        return await self.after(0, 0)

    async def after(self, version: int, wait: float) -> rendezvous.RendezvousState:
        """The state when it has another version than this; as it is when it has not changed in so many seconds."""
        self._bridge.check_loop()
        return await self._bridge.outcome(self._states.after_async(version, wait))
