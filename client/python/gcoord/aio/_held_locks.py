"""What locks for asyncio have in common: how they are given back."""

from .._handle import Held
from ._bridge import Bridge
from ._pending import Entered


class HeldLocks(Entered):
    """What Lock and MultiLock have in common: `held` is what the package without asyncio has for it."""

    def __init__(self, bridge: Bridge, held: Held) -> None:
        self._bridge = bridge
        self._held = held

    def __repr__(self) -> str:
        return repr(self._held).replace("<gcoord.", "<gcoord.aio.", 1)

    async def _give_back(self) -> None:
        self._bridge.check_loop()
        await self._bridge.outcome(self._held._give_back_async())

    def _let_go(self) -> None:
        self._held._handle.free()

    async def release(self) -> None:
        """Gives back, and waits for the answer. The object holds nothing any more from the call on: a cancelled release is
        carried out all the same."""
        await self._give_back()

    def detach(self) -> None:
        """Gives nothing back: it lives on with its session."""
        self._held.detach()
