"""Watches: being told what happens to names."""

import ctypes
import enum
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p, sizeof
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Tuple

from . import _library as lib
from ._stream import Stream
from .errors import GcoordError
from .types import HIDDEN_SESSION


class EventKind(enum.IntEnum):
    GRANTED = 1
    RELEASED = 2
    EXPIRED = 3
    BROKEN = 4
    VALUE_CHANGED = 5
    WAITING = 6
    LEFT = 7


class PreviousKind(enum.IntEnum):
    UNKNOWN = 0
    NOTHING = 1
    HOLD = 2


@dataclass(frozen=True)
class Previous:
    """What was held before an event: the hold that it ended or changed, or whose place a grant took. NOTHING where there was
    none; UNKNOWN where nobody asked, or the node is of a release that cannot say it."""

    kind: PreviousKind = PreviousKind.UNKNOWN
    token: int = 0
    session_id: int = 0
    value: bytes = b""


@dataclass(frozen=True)
class Event:
    kind: EventKind
    name: str
    token: int
    session_id: int
    value: bytes
    previous: Previous = Previous()

    @property
    def hidden(self) -> bool:
        """Whose it is this client may not see (watch.details): token, value and what was before are left out."""
        return self.session_id == HIDDEN_SESSION


@dataclass(frozen=True)
class Batch:
    """All that one entry of a shard's log did to what is watched."""

    shard: int
    revision: int
    events: Tuple[Event, ...]


BatchCallback = Callable[[Batch], None]
EndCallback = Callable[[GcoordError], None]


@dataclass(frozen=True)
class Wanted:
    """What is watched, and how; the arguments of Client.watch."""

    name: Optional[str]
    prefix: Optional[str]
    session_id: int
    waiters: bool
    from_revision: int
    start: Mapping[int, int]
    progress_interval: float
    queue_bytes_max: int
    kinds: Iterable[EventKind]
    previous: bool

    def title(self) -> str:
        if self.name is not None:
            return repr(self.name)
        return f"prefix {self.prefix!r}" if self.prefix is not None else f"session {self.session_id}"


class _Revision(lib.Fields):
    _fields_ = [("shard", c_uint32), ("revision", c_uint64)]


_Told = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, POINTER(lib.Error))


class _Options(lib.Fields):
    _fields_ = [
        ("struct_bytes", c_size_t), ("name", c_char_p), ("prefix", c_char_p), ("session_id", c_uint64),
        ("waiters", c_bool), ("from_revision", c_uint64), ("from_", POINTER(_Revision)), ("from_count", c_size_t),
        ("progress_interval_ms", c_int64), ("queue_bytes_max", c_size_t), ("on_batch", _Told), ("user", c_void_p),
        ("kinds", c_uint32), ("previous", c_uint64),
    ]


class _Event(ctypes.Structure):
    _fields_ = [
        ("kind", c_int32), ("token", c_uint64), ("session_id", c_uint64), ("name", c_char_p), ("value", c_void_p),
        ("value_bytes", c_size_t),
    ]


class _Previous(ctypes.Structure):
    _fields_ = [
        ("kind", c_int32), ("token", c_uint64), ("session_id", c_uint64), ("value", c_void_p), ("value_bytes", c_size_t),
    ]


# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_watch_options_init_as": (None, [POINTER(_Options), c_size_t]),
    "gcoord_watch_open": (c_int32, [c_void_p, POINTER(_Options), POINTER(c_void_p), POINTER(lib.Error)]),
    "gcoord_watch_next": (c_int32, [c_void_p, c_int64, POINTER(c_void_p), POINTER(lib.Error)]),
    "gcoord_watch_event_fd": (c_int32, [c_void_p, POINTER(c_int), POINTER(lib.Error)]),
    "gcoord_watch_revisions": (c_size_t, [c_void_p, POINTER(_Revision), c_size_t]),
    "gcoord_watch_progress": (
        c_int32, [c_void_p, c_int64, POINTER(_Revision), c_size_t, POINTER(c_size_t), POINTER(lib.Error)]),
    "gcoord_watch_first_revision": (_Revision, [c_void_p]),
    "gcoord_watch_close": (None, [c_void_p]),
    "gcoord_watch_free": (None, [c_void_p]),
    "gcoord_batch_shard": (c_uint32, [c_void_p]),
    "gcoord_batch_revision": (c_uint64, [c_void_p]),
    "gcoord_batch_size": (c_size_t, [c_void_p]),
    "gcoord_batch_event": (_Event, [c_void_p, c_size_t]),
    "gcoord_batch_previous": (_Previous, [c_void_p, c_size_t]),
    "gcoord_batch_free": (None, [c_void_p]),
})


def _value(told: Any) -> bytes:
    return ctypes.string_at(told.value, told.value_bytes) if told.value_bytes else b""


def _event(told: _Event, before: _Previous) -> Event:
    previous = Previous(PreviousKind(before.kind), before.token, before.session_id, _value(before))
    name = told.name.decode("utf-8", "surrogateescape")
    return Event(EventKind(told.kind), name, told.token, told.session_id, _value(told), previous)


def _batch(handle: Any) -> Batch:
    library = lib.library()
    count = library.gcoord_batch_size(handle)
    events = tuple(_event(library.gcoord_batch_event(handle, index), library.gcoord_batch_previous(handle, index))
                   for index in range(count))
    return Batch(library.gcoord_batch_shard(handle), library.gcoord_batch_revision(handle), events)


class _Listener:
    """A watch's callbacks; the library carries their number."""

    def __init__(self, on_batch: BatchCallback, on_end: Optional[EndCallback]) -> None:
        self.on_batch, self.on_end = on_batch, on_end


@_Told
def _on_told(number, batch, error):  # type: ignore[no-untyped-def]
    listener = lib._waiting.get(number)
    if not isinstance(listener, _Listener):
        return
    if batch:
        listener.on_batch(_batch(batch))
    elif listener.on_end is not None:
        listener.on_end(error.contents.exception())


def _places(count: int, revisions: Any) -> Dict[int, int]:
    return {place.shard: place.revision for place in revisions[:count]}


class Watch(Stream[Batch]):
    """Batches as they come, each once, in the order of revisions per shard; an iterator that ends with close(). Made by
    Client.watch; leaving its `with` block ends it. One with on_batch gets them there instead, and has no next()."""

    _free_function = "gcoord_watch_free"
    _close_function = "gcoord_watch_close"

    def __init__(self, client: object, pointer: int, wanted: Wanted, on_batch: Optional[BatchCallback],
                 on_end: Optional[EndCallback]) -> None:
        self._listener = lib.expect(_Listener(on_batch, on_end)) if on_batch is not None else 0
        handle = c_void_p()
        try:
            options = _options(wanted, self._listener)
            lib.call("gcoord_watch_open", pointer, byref(options), byref(handle))
        except BaseException:
            lib.forget(self._listener)
            raise
        self._forget = lib.forget  # Kept, as the function of the handle is.
        super().__init__(client, handle.value or 0, wanted.title())

    def next(self, timeout: Optional[float] = None) -> Optional[Batch]:
        """The next batch; None when there is none in time. Without a timeout it waits until there is one."""
        batch = c_void_p()
        lib.call("gcoord_watch_next", self._handle.pointer(), lib.wait_of(timeout), byref(batch))
        if not batch.value:
            return None
        try:
            return _batch(batch)
        finally:
            lib.library().gcoord_batch_free(batch)

    def fileno(self) -> int:
        """A descriptor for an event loop, so that selectors take the watch itself and asyncio its number:

            loop.add_reader(watch.fileno(), take)       # take() calls watch.next(0).

        It is readable exactly while next(0) would return a batch or raise, which it does for ever once the watch has ended.
        The same for each call, of any thread. It is the watch's, and lives as long as the object: unregister it before that,
        close it never. It need not be read. GC6204 of a watch with on_batch."""
        fd = c_int()
        lib.call("gcoord_watch_event_fd", self._handle.pointer(), byref(fd))
        return fd.value

    def revisions(self) -> Dict[int, int]:
        """By shard, up to where everything was taken, or told to on_batch. Another watch, of another program too, goes on
        from there, plus one: start={shard: revision + 1 for shard, revision in watch.revisions().items()}."""
        library, pointer = lib.library(), self._handle.pointer()
        room = library.gcoord_watch_revisions(pointer, None, 0)
        places = (_Revision * room)()
        return _places(min(room, library.gcoord_watch_revisions(pointer, places, room)), places)

    def progress(self, timeout: float = 5.0) -> Dict[int, int]:
        """Asks a node how far it is. By shard, up to where everything was told to on_batch, or can be taken by next(0).
        GC4009 when there is no answer in time, which none comes while the queue is full."""
        room, known = max(1, len(self.revisions())), c_size_t()
        while True:
            places = (_Revision * room)()
            lib.call("gcoord_watch_progress", self._handle.pointer(), lib.wait_of(timeout), places, room, byref(known))
            if known.value <= room:
                return _places(known.value, places)
            room = known.value

    def first_revision(self) -> Tuple[int, int]:
        """After GC6201: the shard and the first of its revisions that can be had."""
        first = lib.library().gcoord_watch_first_revision(self._handle.pointer())
        return first.shard, first.revision

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._handle.free()
            self._forget(self._listener)


def _options(wanted: Wanted, listener: int) -> _Options:
    options = _Options()
    lib.library().gcoord_watch_options_init_as(byref(options), sizeof(options))
    options.name = lib.text(wanted.name) if wanted.name is not None else None
    options.prefix = lib.text(wanted.prefix) if wanted.prefix is not None else None
    options.session_id, options.waiters = wanted.session_id, wanted.waiters
    options.from_revision, options.from_count = wanted.from_revision, len(wanted.start)
    options.from_ = (_Revision * len(wanted.start))(*(_Revision(*place) for place in wanted.start.items()))
    options.progress_interval_ms = lib.milliseconds(wanted.progress_interval)
    options.queue_bytes_max = wanted.queue_bytes_max
    options.previous = 1 if wanted.previous else 0
    for kind in wanted.kinds:
        known = isinstance(kind, int) and 0 < kind < 32
        options.kinds |= 1 << kind if known else 1  # What bit 0 stands for there is not, as little as what is beyond.
    if listener:
        options.on_batch, options.user = _on_told, listener
    return options
