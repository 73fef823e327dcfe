"""Watches, for asyncio."""

import asyncio
from typing import Dict, Optional, Tuple

from .. import watch
from .._library import CLIENT_CLOSED
from ..errors import GcoordError
from ._bridge import Bridge
from ._pending import Entered

_WITHOUT_PAUSE = 32  # So many batches are taken from a backlog before other tasks have their turn.


class Watch(Entered):
    """Batches as they come, for `async for`, each once, in the order of revisions per shard. Made by Client.watch; leaving
    its `async with` block ends it. One task at a time."""

    def __init__(self, bridge: Bridge, opened: watch.Watch) -> None:
        self._bridge = bridge
        self._watch = opened
        self._descriptor = opened.fileno()
        self._closed = False
        self._in_a_row = 0

    def __repr__(self) -> str:
        return repr(self._watch).replace("<gcoord.", "<gcoord.aio.", 1)

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> watch.Batch:
        self._bridge.check_loop()
        if self._in_a_row == _WITHOUT_PAUSE:
            self._in_a_row = 0
            await asyncio.sleep(0)
        while not (self._closed or self._bridge.closed):
            batch = self._take()
            if batch is not None:
                self._in_a_row += 1
                return batch
            self._in_a_row = 0
            await self._bridge.readable(self._descriptor)
        raise StopAsyncIteration

    def _take(self) -> Optional[watch.Batch]:
        try:
            return self._watch.next(0)
        except GcoordError as reason:
            if reason.number == CLIENT_CLOSED:  # By the interpreter's end, which closes the client within this one.
                raise StopAsyncIteration from None
            raise

    def revisions(self) -> Dict[int, int]:
        """By shard, up to where everything was taken. Another watch goes on from there, plus one."""
        return self._watch.revisions()

    async def progress(self, timeout: float = 5.0) -> Dict[int, int]:
        """Asks a node how far it is. By shard, up to where everything can be taken without waiting."""
        return await self._bridge.in_thread(lambda: self._watch.progress(timeout))

    def first_revision(self) -> Tuple[int, int]:
        """After GC6201: the shard and the first of its revisions that can be had."""
        return self._watch.first_revision()

    def close(self) -> None:
        """Ends it: an iteration ends, as it does with the client."""
        self._closed = True
        self._watch.close()
        self._bridge.wake(self._descriptor)

    async def _give_back(self) -> None:
        self.close()

    def _let_go(self) -> None:
        self.close()
