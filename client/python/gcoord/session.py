"""Sessions and the locks that they hold."""

from concurrent.futures import Future
from ctypes import addressof, byref, c_char, c_char_p, c_int64, c_void_p, memset
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence

from . import _library as lib
from ._handle import Held, Owner, wait_for
from ._session_library import Eventful, Listeners, Options, options_of
from .election import Election
from .errors import GcoordError
from .group import Group
from .lock_batch import LockBatch, release_many_async
from .multi_lock import MultiLock, acquire_fields
from .rendezvous import Rendezvous
from .types import CheckReport, HealthCheck, LostLock, SessionEvent, UnhealthyAction

_KEY_ROOM = 129  # GCOORD_SESSION_KEY_ROOM.

EventCallback = Callable[[SessionEvent], None]
LostCallback = Callable[[LostLock], None]
ReportCallback = Callable[[CheckReport], None]


class Lock(Held):
    """A held lock. Leaving its `with` block releases it; so does losing the object, without waiting for the answer."""

    _free_function = "gcoord_lock_free"
    _give_back_function = "gcoord_lock_release"
    _detach_function = "gcoord_lock_detach"

    def __init__(self, session: "Session", handle: int) -> None:
        super().__init__(handle)
        self._session = session  # Lives at least as long as its locks, or they would end with it.

    def _described(self) -> str:
        return f"{self.name!r} fence={self.fence} {'valid' if self.valid else 'not valid'}"

    @property
    def name(self) -> str:
        return lib.words("gcoord_lock_name", self._handle.pointer())

    @property
    def fence(self) -> int:
        """The fencing token. It goes along with every write to what the lock guards."""
        return lib.number("gcoord_lock_fence", self._handle.pointer())

    @property
    def epoch(self) -> int:
        """Term of the node that granted it."""
        return lib.number("gcoord_lock_epoch", self._handle.pointer())

    @property
    def already_held(self) -> bool:
        return lib.truth("gcoord_lock_already_held", self._handle.pointer())

    @property
    def held_again(self) -> bool:
        """The session held it before, and owes one release more now (holds_max)."""
        return lib.truth("gcoord_lock_held_again", self._handle.pointer())

    @property
    def valid(self) -> bool:
        """False once released, or when the session's lease has run out by the local clock."""
        return lib.truth("gcoord_lock_valid", self._handle.pointer())

    @property
    def certain_until_ns(self) -> int:
        """Until when it stays valid if nothing more is heard: a moment of Client.now_ns(), of the past when it is not."""
        return lib.number("gcoord_lock_certain_until_ns", self._handle.pointer())

    def release(self) -> None:
        self._give_back()

    def release_async(self) -> "Future[None]":
        """The object does not hold the lock any more from the call on."""
        return self._give_back_async()


class Session(Held, Eventful):
    """Holds locks until it is closed or lost. Made by Client.open_session, grant_session and attach_session. detach() stops
    keeping it alive."""

    _free_function = "gcoord_session_free"
    _give_back_function = "gcoord_session_close"
    _detach_function = "gcoord_session_detach"
    _event_fd_function = "gcoord_session_event_fd"
    _next_event_function = "gcoord_session_next_event"

    def __init__(self, client: Owner, handle: int, event: int, opened_here: bool = True) -> None:
        super().__init__(handle, client if opened_here else None)
        self._client = client  # Lives at least as long as what it serves.
        self._event = event

    def _described(self) -> str:
        return f"{self.id} ttl={self.ttl:g} {'alive' if self.alive else 'ended'}"

    @property
    def id(self) -> int:
        return lib.number("gcoord_session_id", self._handle.pointer())

    def key(self) -> bytearray:
        """What another program needs to speak for this session, for Client.attach_session, where nodes ask for keys
        (--session-keys): a secret, which the caller wipes. Empty where nodes give none. Asks no node."""
        room = (c_char * _KEY_ROOM)()
        try:
            lib.call("gcoord_session_key", self._handle.pointer(), addressof(room), _KEY_ROOM)
            return lib.secret_at(addressof(room))
        finally:
            memset(room, 0, _KEY_ROOM)

    @property
    def ttl(self) -> float:
        return lib.number("gcoord_session_ttl_ms", self._handle.pointer()) / 1000

    @property
    def remaining(self) -> float:
        """How long it is certain to live by the local clock; 0 when it is lost."""
        return lib.number("gcoord_session_remaining_ms", self._handle.pointer()) / 1000

    @property
    def certain_until_ns(self) -> int:
        """Until when it is certain to live if nothing more is heard: a moment of Client.now_ns()."""
        return lib.number("gcoord_session_certain_until_ns", self._handle.pointer())

    @property
    def alive(self) -> bool:
        return lib.truth("gcoord_session_alive", self._handle.pointer())

    @property
    def healthy(self) -> bool:
        """False while one of its health checks fails."""
        return lib.truth("gcoord_session_healthy", self._handle.pointer())

    def acquire(self, name: str, wait: Optional[float] = None, *, note: bytes = b"", holds_max: int = 0,
                shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                downgrade: bool = False, priority: int = 0, delay: float = 0) -> Lock:
        """wait None: until granted or the session ends; 0: not at all (LockBusy); else WaitTimedOut after it.

        The further options are those of AcquireOptions (gcoord/options.h); delay is seconds.
        """
        future = self.acquire_async(name, wait, note=note, holds_max=holds_max, shared=shared, permits=permits,
                                    permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                                    priority=priority, delay=delay)
        return wait_for(future, lambda late: late._handle.free())

    def try_acquire(self, name: str, *, note: bytes = b"", holds_max: int = 0, shared: bool = False, permits: int = 1,
                    permits_max: int = 0, detect_deadlock: bool = False, downgrade: bool = False, priority: int = 0,
                    delay: float = 0) -> Lock:
        """The lock if it is free now; LockBusy otherwise."""
        return self.acquire(name, 0, note=note, holds_max=holds_max, shared=shared, permits=permits,
                            permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                            priority=priority, delay=delay)

    def acquire_async(self, name: str, wait: Optional[float] = None, *, note: bytes = b"", holds_max: int = 0,
                      shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                      downgrade: bool = False, priority: int = 0, delay: float = 0) -> "Future[Lock]":
        """With asyncio: await asyncio.wrap_future(session.acquire_async(...)). Cancelling the future ends the wait at the
        nodes, too."""
        fields = acquire_fields(wait, note=note, holds_max=holds_max, shared=shared, permits=permits,
                                permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                                priority=priority, delay=delay)
        future: "Future[Lock]" = Future()
        stop = lib.Stop()
        lib.start("gcoord_lock_acquire_stoppable_async", future, lambda handle: Lock(self, handle),
                  (self._handle.pointer(), lib.text(name), byref(fields), stop.pointer), lib.on_handle)
        stop.follow(future)
        return future

    def acquire_all(self, names: Iterable[str], wait: Optional[float] = None, *, note: bytes = b"", holds_max: int = 0,
                    shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                    downgrade: bool = False, priority: int = 0, delay: float = 0) -> MultiLock:
        """Several locks, all or none within the wait; options as of acquire."""
        future = self.acquire_all_async(names, wait, note=note, holds_max=holds_max, shared=shared, permits=permits,
                                        permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                                        priority=priority, delay=delay)
        return wait_for(future, lambda late: late._handle.free())

    def acquire_all_async(self, names: Iterable[str], wait: Optional[float] = None, *, note: bytes = b"",
                          holds_max: int = 0, shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                          downgrade: bool = False, priority: int = 0, delay: float = 0) -> "Future[MultiLock]":
        fields = acquire_fields(wait, note=note, holds_max=holds_max, shared=shared, permits=permits,
                                permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                                priority=priority, delay=delay)
        future: "Future[MultiLock]" = Future()
        asked = [lib.text(name) for name in names]
        stop = lib.Stop()
        lib.start("gcoord_lock_acquire_all_stoppable_async", future, lambda handle: MultiLock(self, handle),
                  (self._handle.pointer(), (c_char_p * len(asked))(*asked), len(asked),
                   byref(fields), stop.pointer), lib.on_handle)
        stop.follow(future)
        return future

    def acquire_many(self, names: Iterable[str], wait: Optional[float] = 0, *, note: bytes = b"", holds_max: int = 0,
                     shared: bool = False, permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False,
                     downgrade: bool = False, priority: int = 0, delay: float = 0) -> LockBatch:
        """Each of the names on its own, in few frames: a batch that says which were granted. By default it waits for none;
        options as of acquire. Raises, with nothing sent, for no names, more than 4,096, and a name that occurs twice."""
        future = self.acquire_many_async(names, wait, note=note, holds_max=holds_max, shared=shared, permits=permits,
                                         permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                                         priority=priority, delay=delay)
        return wait_for(future, lambda late: late._handle.free())

    def acquire_many_async(self, names: Iterable[str], wait: Optional[float] = 0, *, note: bytes = b"",
                           holds_max: int = 0, shared: bool = False, permits: int = 1, permits_max: int = 0,
                           detect_deadlock: bool = False, downgrade: bool = False, priority: int = 0,
                           delay: float = 0) -> "Future[LockBatch]":
        """Cancelling the future ends the waits at the nodes, too."""
        fields = acquire_fields(wait, note=note, holds_max=holds_max, shared=shared, permits=permits,
                                permits_max=permits_max, detect_deadlock=detect_deadlock, downgrade=downgrade,
                                priority=priority, delay=delay)
        future: "Future[LockBatch]" = Future()
        asked = [lib.text(name) for name in names]
        stop = lib.Stop()
        lib.start("gcoord_lock_acquire_many_async", future, lambda handle: LockBatch(self, handle),
                  (self._handle.pointer(), (c_char_p * len(asked))(*asked), len(asked),
                   byref(fields), stop.pointer), lib.on_handle)
        stop.follow(future)
        return future

    def release_many(self, holds: Mapping[str, int]) -> Dict[str, Optional[GcoordError]]:
        """By names and tokens, in few frames: for each name why it was not released, or None."""
        return self.release_many_async(holds).result()

    def release_many_async(self, holds: Mapping[str, int]) -> "Future[Dict[str, Optional[GcoordError]]]":
        return release_many_async(self, holds)

    def release(self, name: str, token: int) -> None:
        """By token, for a lock that has no object here."""
        lib.call("gcoord_session_release", self._handle.pointer(), lib.text(name), token)

    def release_async(self, name: str, token: int) -> "Future[None]":
        return lib.start_done("gcoord_session_release_async", self, self._handle.pointer(), lib.text(name), token)

    def proclaim_async(self, name: str, epoch: int, value: bytes) -> "Future[None]":
        said = lib.octets(value)
        return lib.start_done("gcoord_session_proclaim_async", self, self._handle.pointer(), lib.text(name), epoch, said,
                              len(said))

    def proclaim(self, name: str, epoch: int, value: bytes) -> None:
        """What the leader of an election may do by its epoch, where there is no Election for it."""
        said = lib.octets(value)
        lib.call("gcoord_session_proclaim", self._handle.pointer(), lib.text(name), epoch, said, len(said))

    def transfer(self, name: str, epoch: int, session_id: int) -> None:
        lib.call("gcoord_session_transfer", self._handle.pointer(), lib.text(name), epoch, session_id)

    def transfer_async(self, name: str, epoch: int, session_id: int) -> "Future[None]":
        return lib.start_done("gcoord_session_transfer_async", self, self._handle.pointer(), lib.text(name), epoch,
                              session_id)

    def election(self, name: str) -> Election:
        """This session's candidacy in the election of this name, which is the name of a lock."""
        return Election(self, self._handle.pointer(), name)

    def group(self, name: str) -> Group:
        """This session's part in the group of this name. Asks no node."""
        return Group(self, self._handle.pointer(), name)

    def rendezvous(self, name: str) -> Rendezvous:
        """This session's part in the rendezvous of this name. Asks no node."""
        return Rendezvous(self, self._handle.pointer(), name)

    def renew(self) -> None:
        """Keeps it alive now; returns when a majority of the nodes has acknowledged that."""
        lib.call("gcoord_session_renew", self._handle.pointer())

    def renew_until(self) -> int:
        """The same; the moment of Client.now_ns() until which it and its locks are certain to live now."""
        until = c_int64()
        lib.call("gcoord_session_renew_until", self._handle.pointer(), byref(until))
        return until.value

    def renew_async(self) -> "Future[None]":
        return lib.start_done("gcoord_session_renew_async", self, self._handle.pointer())

    def close(self) -> None:
        """Ends it; its locks go to their next waiters."""
        self._give_back()

    def close_async(self) -> "Future[None]":
        return self._give_back_async()

    def __del__(self) -> None:
        if hasattr(self, "_event"):
            self._handle.free()
            lib.forget(self._event)


@dataclass(frozen=True)
class Opening:
    """How a session is come by: the function of the library, and the client that it is asked of."""

    function: str
    client: Owner
    pointer: int
    ttl: float
    session_id: int
    listeners: Listeners
    checks: Sequence[HealthCheck]
    on_unhealthy: UnhealthyAction
    key: Optional[lib.Secret] = field(default=None, repr=False)

    def now(self, *behind: Any) -> Session:
        """behind: what stands behind the options."""
        event, handle = lib.expect(self.listeners), c_void_p()
        try:
            with lib.SecretText(self.key, "key") as secret:
                options = self._options(event)
                options.session_key = secret.pointer
                lib.call(self.function, self.pointer, byref(options), *behind, byref(handle))
        except BaseException:
            lib.forget(event)
            raise
        return self._made(handle.value or 0, event)

    def without_waiting(self) -> "Future[Session]":
        event = lib.expect(self.listeners)
        future: "Future[Session]" = Future()
        try:
            lib.start(self.function + "_async", future, lambda handle: self._made(handle, event),
                      (self.pointer, byref(self._options(event))), lib.on_handle, lambda: lib.forget(event))
        except BaseException:
            lib.forget(event)
            raise
        return future

    def _made(self, handle: int, event: int) -> Session:
        return Session(self.client, handle, event, opened_here=self.function != "gcoord_session_attach")

    def _options(self, event: int) -> Options:
        return options_of(self.ttl, self.session_id, event, self.listeners, self.checks, self.on_unhealthy)
