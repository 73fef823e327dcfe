"""The client for asyncio: the calls of `gcoord` as coroutines, `async with` and `async for`.

    async with gcoord.aio.Client("127.0.0.1:7401,127.0.0.1:7402") as client:
        async with client.open_session(ttl=10) as session:
            async with session.acquire("jobs/train-7") as lock:
                await write_checkpoint(fence=lock.fence)

Names and promises are those of the package `gcoord`. What opens something (connect, open_session, acquire, watch, ...) can
be awaited, or entered by `async with`, which gives back at the end of its block.

A cancelled await withdraws its request: an acquire leaves its queue at the nodes, and a grant that was on its way is given
back, so no lock is left held. So `async with asyncio.timeout(5)` bounds every call. A block that ends by an error gives
back without waiting for the answer.

An object belongs to the event loop in which its client was connected, and all its methods are called in this loop.
"""

from ._pending import Pending
from .client import Client
from .election import Election
from .events import Events
from .group import Group, GroupViews
from .lease import Lease
from .observe import LeaderStream
from .rendezvous import Rendezvous, RendezvousStates
from .lock_batch import LockBatch
from .session import Lock, MultiLock, Session
from .watch import Watch

__all__ = ["Client", "Election", "Events", "Group", "GroupViews", "LeaderStream", "Lease", "Lock", "LockBatch", "MultiLock",
           "Pending", "Rendezvous", "RendezvousStates", "Session", "Watch"]
