"""Watches: being told what happens to names."""

import ctypes
import enum
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

from . import _library as lib
from ._stream import Stream


class EventKind(enum.IntEnum):
    GRANTED = 1
    RELEASED = 2
    EXPIRED = 3
    BROKEN = 4
    VALUE_CHANGED = 5
    WAITING = 6
    LEFT = 7


@dataclass(frozen=True)
class Event:
    kind: EventKind
    name: str
    token: int
    session_id: int
    value: bytes


@dataclass(frozen=True)
class Batch:
    """All that one entry of a shard's log did to what is watched."""

    shard: int
    revision: int
    events: Tuple[Event, ...]


class _Revision(ctypes.Structure):
    _fields_ = [("shard", c_uint32), ("revision", c_uint64)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", c_size_t), ("name", c_char_p), ("prefix", c_char_p), ("session_id", c_uint64),
        ("waiters", c_bool), ("from_revision", c_uint64), ("from_", POINTER(_Revision)), ("from_count", c_size_t),
    ]


class _Event(ctypes.Structure):
    _fields_ = [
        ("kind", c_int32), ("token", c_uint64), ("session_id", c_uint64), ("name", c_char_p), ("value", c_void_p),
        ("value_bytes", c_size_t),
    ]


# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_watch_options_init": (None, [POINTER(_Options)]),
    "gcoord_watch_open": (c_int32, [c_void_p, POINTER(_Options), POINTER(c_void_p), POINTER(lib.Error)]),
    "gcoord_watch_next": (c_int32, [c_void_p, c_int64, POINTER(c_void_p), POINTER(lib.Error)]),
    "gcoord_watch_close": (None, [c_void_p]),
    "gcoord_watch_free": (None, [c_void_p]),
    "gcoord_batch_shard": (c_uint32, [c_void_p]),
    "gcoord_batch_revision": (c_uint64, [c_void_p]),
    "gcoord_batch_size": (c_size_t, [c_void_p]),
    "gcoord_batch_event": (_Event, [c_void_p, c_size_t]),
    "gcoord_batch_free": (None, [c_void_p]),
})


def _event(told: _Event) -> Event:
    value = ctypes.string_at(told.value, told.value_bytes) if told.value_bytes else b""
    return Event(EventKind(told.kind), told.name.decode("utf-8", "surrogateescape"), told.token, told.session_id, value)


class Watch(Stream[Batch]):
    """Batches as they come, each once, in the order of revisions per shard; an iterator that ends with close(). Made by
    Client.watch; leaving its `with` block ends it."""

    _free_function = "gcoord_watch_free"
    _close_function = "gcoord_watch_close"

    def __init__(self, client: object, pointer: int, name: Optional[str], prefix: Optional[str], session_id: int,
                 waiters: bool, from_revision: int, start: Mapping[int, int]) -> None:
        options = _Options()
        lib.library().gcoord_watch_options_init(byref(options))
        options.name = lib.text(name) if name is not None else None
        options.prefix = lib.text(prefix) if prefix is not None else None
        options.session_id = session_id
        options.waiters = waiters
        options.from_revision = from_revision
        places = (_Revision * len(start))(*(_Revision(shard, revision) for shard, revision in start.items()))
        options.from_ = places
        options.from_count = len(start)
        handle = c_void_p()
        lib.call("gcoord_watch_open", pointer, byref(options), byref(handle))
        super().__init__(client, handle.value or 0)

    def next(self, timeout: Optional[float] = None) -> Optional[Batch]:
        """The next batch; None when there is none in time. Without a timeout it waits until there is one."""
        library = lib.library()
        batch = c_void_p()
        lib.call("gcoord_watch_next", self._handle.pointer(), lib.wait_of(timeout), byref(batch))
        if not batch.value:
            return None
        try:
            count = library.gcoord_batch_size(batch)
            events = tuple(_event(library.gcoord_batch_event(batch, index)) for index in range(count))
            return Batch(library.gcoord_batch_shard(batch), library.gcoord_batch_revision(batch), events)
        finally:
            library.gcoord_batch_free(batch)
