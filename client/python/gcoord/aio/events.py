"""What happens to a session, or to that of a lease, by `async for`."""

from typing import Union

from .._session_library import Eventful
from ..types import LostLock, SessionEvent
from ._bridge import Bridge


class Events:
    """The events of a session in their order: JEOPARDY, SAFE, EXPIRED, and the LostLock of a hold that an operator broke.
    The iteration ends after EXPIRED, and when the session or the client is closed here. One task at a time."""

    def __init__(self, bridge: Bridge, of: Eventful) -> None:
        self._bridge = bridge
        self._of = of  # Lives at least as long as its descriptor is waited for.
        self._descriptor = of.fileno()
        self._over = False

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> Union[SessionEvent, LostLock]:
        self._bridge.check_loop()
        while not (self._over or self._bridge.closed):
            event = self._of.next_event()
            if event is not None:
                self._over = event is SessionEvent.EXPIRED
                return event
            await self._bridge.readable(self._descriptor)
        raise StopAsyncIteration

    def _end(self) -> None:
        self._over = True
        self._bridge.wake(self._descriptor)
