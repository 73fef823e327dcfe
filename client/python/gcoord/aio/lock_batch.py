"""Many locks of one session in one call, for asyncio."""

from typing import Dict, List, Optional

from .. import lock_batch
from ..errors import GcoordError
from ._bridge import Bridge
from ._held_locks import HeldLocks


class LockBatch(HeldLocks):
    """What came of Session.acquire_many: the locks that were granted, and why others were not. Leaving its `async with`
    block releases the locks; so does losing the object, without waiting for the answers."""

    def __init__(self, bridge: Bridge, batch: lock_batch.LockBatch) -> None:
        super().__init__(bridge, batch)
        self._batch = batch

    @property
    def names(self) -> List[str]:
        """All names of the call, in its order."""
        return self._batch.names

    @property
    def fences(self) -> Dict[str, int]:
        """The fencing token of each name that was granted and not released, in the order of the names."""
        return self._batch.fences

    @property
    def failures(self) -> Dict[str, GcoordError]:
        """Why each of the other names was not granted."""
        return self._batch.failures

    def fence(self, name: str) -> Optional[int]:
        """The fencing token of a name; None for one that is not held."""
        return self._batch.fence(name)

    def valid(self, name: str) -> bool:
        """Whether this name is held, by the client's clock. Asks no node."""
        return self._batch.valid(name)

    def already_held(self, name: str) -> bool:
        """Whether the session held it before."""
        return self._batch.already_held(name)
