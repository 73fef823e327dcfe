"""Sessions and the locks that they hold, for asyncio."""

from typing import Any, Callable, Dict, Iterable, Mapping, Optional

from .. import multi_lock, session
from .._handle import Held
from ..errors import GcoordError
from ._bridge import Bridge
from ._held_locks import HeldLocks
from ._pending import Entered, Pending
from .election import Election
from .events import Events
from .group import Group
from .lock_batch import LockBatch
from .rendezvous import Rendezvous


class Lock(HeldLocks):
    """A held lock. Leaving its `async with` block releases it; so does losing the object, without waiting for the
    answer."""

    def __init__(self, bridge: Bridge, lock: session.Lock) -> None:
        super().__init__(bridge, lock)
        self._lock = lock

    @property
    def name(self) -> str:
        return self._lock.name

    @property
    def fence(self) -> int:
        """The fencing token. It goes along with every write to what the lock guards."""
        return self._lock.fence

    @property
    def epoch(self) -> int:
        """Term of the node that granted it."""
        return self._lock.epoch

    @property
    def already_held(self) -> bool:
        return self._lock.already_held

    @property
    def held_again(self) -> bool:
        """The session held it before, and owes one release more now (holds_max)."""
        return self._lock.held_again

    @property
    def valid(self) -> bool:
        """False once released, or when the session's lease has run out by the local clock. Asks no node."""
        return self._lock.valid

    @property
    def certain_until_ns(self) -> int:
        """Until when it stays valid if nothing more is heard: a moment of Client.now_ns()."""
        return self._lock.certain_until_ns


class MultiLock(HeldLocks):
    """Held locks, each with a token of its own. Made by Session.acquire_all."""

    def __init__(self, bridge: Bridge, locks: multi_lock.MultiLock) -> None:
        super().__init__(bridge, locks)
        self._locks = locks

    @property
    def fences(self) -> Dict[str, int]:
        """The fencing token of each name, in the order in which they were taken."""
        return self._locks.fences

    def fence(self, name: str) -> Optional[int]:
        return self._locks.fence(name)

    @property
    def valid(self) -> bool:
        """Whether all of them are held."""
        return self._locks.valid


def _free(late: Held) -> None:
    late._handle.free()


class Session(Entered):
    """Holds locks until it is closed or lost. Made by Client.open_session, grant_session and attach_session. Leaving its
    `async with` block closes it."""

    def __init__(self, bridge: Bridge, opened: session.Session) -> None:
        self._bridge = bridge
        self._session = opened
        self._events: Optional[Events] = None

    def __repr__(self) -> str:
        return repr(self._session).replace("<gcoord.", "<gcoord.aio.", 1)

    @property
    def id(self) -> int:
        return self._session.id

    def key(self) -> bytearray:
        """What another program needs to speak for this session, where nodes ask for keys: a secret, which the caller wipes."""
        return self._session.key()

    @property
    def ttl(self) -> float:
        return self._session.ttl

    @property
    def remaining(self) -> float:
        """How long it is certain to live by the local clock; 0 when it is lost."""
        return self._session.remaining

    @property
    def certain_until_ns(self) -> int:
        return self._session.certain_until_ns

    @property
    def alive(self) -> bool:
        return self._session.alive

    @property
    def healthy(self) -> bool:
        """False while one of its health checks fails."""
        return self._session.healthy

    def events(self) -> Events:
        """What happens to it, for `async for`. The same object at each call, since an event comes once."""
        if self._events is None:
            self._events = Events(self._bridge, self._session)
        return self._events

    def acquire(self, name: str, wait: Optional[float] = None, *, note: bytes = b"", holds_max: int = 0,
                shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                downgrade: bool = False, priority: int = 0, delay: float = 0) -> "Pending[Lock]":
        """Awaits the lock, or holds it for an `async with` block. Arguments are those of gcoord.Session.acquire. A cancelled
        wait is withdrawn: it leaves the queue, and a grant that was on its way is given back."""
        async def coming() -> Lock:
            self._bridge.check_loop()
            future = self._session.acquire_async(
                name, wait, note=note, holds_max=holds_max, shared=shared, permits=permits, permits_max=permits_max,
                detect_deadlock=detect_deadlock, downgrade=downgrade, priority=priority, delay=delay)
            return Lock(self._bridge, await self._bridge.outcome(future, _free))

        return Pending(coming())

    def try_acquire(self, name: str, *, note: bytes = b"", holds_max: int = 0, shared: bool = False, permits: int = 1,
                    permits_max: int = 0, detect_deadlock: bool = False, downgrade: bool = False, priority: int = 0,
                    delay: float = 0) -> "Pending[Lock]":
        """The lock if it is free now; LockBusy otherwise."""
        return self.acquire(name, 0, note=note, holds_max=holds_max, shared=shared, permits=permits,
                            permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                            priority=priority, delay=delay)

    def acquire_all(self, names: Iterable[str], wait: Optional[float] = None, *, note: bytes = b"", holds_max: int = 0,
                    shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                    downgrade: bool = False, priority: int = 0, delay: float = 0) -> "Pending[MultiLock]":
        """Several locks, all or none within the wait. A cancelled wait leaves none held."""
        async def coming() -> MultiLock:
            self._bridge.check_loop()
            future = self._session.acquire_all_async(
                names, wait, note=note, holds_max=holds_max, shared=shared, permits=permits, permits_max=permits_max,
                detect_deadlock=detect_deadlock, downgrade=downgrade, priority=priority, delay=delay)
            return MultiLock(self._bridge, await self._bridge.outcome(future, _free))

        return Pending(coming())

    def acquire_many(self, names: Iterable[str], wait: Optional[float] = 0, *, note: bytes = b"", holds_max: int = 0,
                     shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                     downgrade: bool = False, priority: int = 0, delay: float = 0) -> "Pending[LockBatch]":
        """Each of the names on its own, in few frames. Arguments are those of gcoord.Session.acquire_many. A cancelled wait
        leaves none held."""
        async def coming() -> LockBatch:
            self._bridge.check_loop()
            future = self._session.acquire_many_async(
                names, wait, note=note, holds_max=holds_max, shared=shared, permits=permits, permits_max=permits_max,
                detect_deadlock=detect_deadlock, downgrade=downgrade, priority=priority, delay=delay)
            return LockBatch(self._bridge, await self._bridge.outcome(future, _free))

        return Pending(coming())

    async def release_many(self, holds: Mapping[str, int]) -> Dict[str, Optional[GcoordError]]:
        """By names and tokens, in few frames: for each name why it was not released, or None."""
        released: Dict[str, Optional[GcoordError]] = await self._bridge.outcome(
            self._started(self._session.release_many_async, holds))
        return released

    async def release(self, name: str, token: int) -> None:
        """By token, for a lock that has no object here."""
        await self._bridge.outcome(self._started(self._session.release_async, name, token))

    def election(self, name: str) -> Election:
        """This session's candidacy in the election of this name, which is the name of a lock."""
        return Election(self._bridge, self._session.election(name))

    def group(self, name: str) -> Group:
        """This session's part in the group of this name. Asks no node."""
        self._bridge.check_loop()
        return Group(self._bridge, self._session.group(name))

    def rendezvous(self, name: str) -> Rendezvous:
        """This session's part in the rendezvous of this name. Asks no node."""
        self._bridge.check_loop()
        return Rendezvous(self._bridge, self._session.rendezvous(name))

    async def proclaim(self, name: str, epoch: int, value: bytes) -> None:
        """What the leader of an election may do by its epoch, where there is no Election for it."""
        await self._bridge.outcome(self._started(self._session.proclaim_async, name, epoch, value))

    async def transfer(self, name: str, epoch: int, session_id: int) -> None:
        await self._bridge.outcome(self._started(self._session.transfer_async, name, epoch, session_id))

    async def renew(self) -> None:
        """Keeps it alive now; returns when a majority of the nodes has acknowledged that."""
        await self._bridge.outcome(self._started(self._session.renew_async))

    async def renew_until(self) -> int:
        """The same; the moment of Client.now_ns() until which it and its locks are certain to live now."""
        await self.renew()
        return self._session.certain_until_ns

    async def close(self) -> None:
        """Ends it; its locks go to their next waiters. A cancelled close is carried out all the same."""
        await self._give_back()

    def detach(self) -> None:
        """Stops keeping it alive: it and its locks live for the rest of the TTL."""
        self._session.detach()

    def _started(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._bridge.check_loop()
        return function(*arguments)

    async def _give_back(self) -> None:
        closing = self._started(self._session.close_async)
        self._end_events()
        await self._bridge.outcome(closing)

    def _let_go(self) -> None:
        self._session.close_async()
        self._end_events()

    def _end_events(self) -> None:
        if self._events is not None:
            self._events._end()
