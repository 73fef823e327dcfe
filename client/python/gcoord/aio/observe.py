"""Who leads in an election, one after the other, for asyncio."""

import asyncio
import threading
from typing import Callable, Union

from .. import observe
from ..errors import GcoordError
from ..types import Office
from ._bridge import Bridge
from ._pending import Entered


def _pump(stream: observe.LeaderStream, tell: Callable[[Union[Office, GcoordError, None]], None]) -> None:
    """The C interface has no descriptor for leaders, so a thread waits for them. It ends with its stream, or its client."""
    try:
        for office in stream:
            tell(office)
    except GcoordError as reason:
        tell(reason)
    else:
        tell(None)


class LeaderStream(Entered):
    """Leaders as they come, for `async for`, the present one first; never the same epoch twice, never an earlier one. Made
    by Client.observe; leaving its `async with` block ends it. Each has a thread of its own: to follow thousands of elections,
    watch their prefix."""

    def __init__(self, bridge: Bridge, opened: observe.LeaderStream) -> None:
        self._bridge = bridge
        self._stream = opened
        self._told: "asyncio.Queue[Union[Office, GcoordError, None]]" = asyncio.Queue()
        self._closed = False
        told = self._told  # The thread keeps the queue alive, and not this object, whose end ends the thread.
        threading.Thread(target=_pump, args=(opened, lambda what: bridge.post(lambda: told.put_nowait(what))),
                         name="gcoord-aio-leaders", daemon=True).start()

    def __repr__(self) -> str:
        return repr(self._stream).replace("<gcoord.", "<gcoord.aio.", 1)

    def __aiter__(self) -> "LeaderStream":
        return self

    async def __anext__(self) -> Office:
        self._bridge.check_loop()
        if self._closed or self._bridge.closed:
            raise StopAsyncIteration
        told = await self._told.get()
        if isinstance(told, Office):
            return told
        self._told.put_nowait(told)  # For others that wait, and for the next time.
        if told is None:
            raise StopAsyncIteration
        raise told

    def close(self) -> None:
        """Ends it: an iteration ends, as it does with the client."""
        if not self._closed:
            self._closed = True
            self._stream.close()
            self._told.put_nowait(None)

    async def _give_back(self) -> None:
        self.close()

    def _let_go(self) -> None:
        self.close()

    def __del__(self) -> None:
        # Not when the collector of cycles has freed it before.
        if hasattr(self, "_stream") and not self._stream._handle.closed:
            self._stream.close()
