"""Looks at locks: descriptions, lists, and reads that say how fresh their answer must be."""

import ctypes
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from . import _library as lib
from .types import (BatchReading, Consistency, Freshness, LockDescription, LockPage, LockReading, Position, ReadPage,
                    Sharer, Verdict, VerdictReading, Waiter)


class _Facts(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p), ("shard", c_uint32), ("holder_session", c_uint64), ("token", c_uint64),
        ("acquired_index", c_uint64), ("ttl_left_ms", c_int64), ("waiter_count", c_uint32), ("hold_count", c_uint32),
        ("permits_max", c_uint32), ("note", c_void_p), ("note_bytes", c_size_t),
    ]


class _Waiter(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("sequence", c_uint64), ("waited_ms", c_int64)]


class _Sharer(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("token", c_uint64), ("acquired_index", c_uint64), ("permits", c_uint32)]


class _ListOptions(lib.Fields):
    _fields_ = [("struct_bytes", c_size_t), ("prefix", c_char_p), ("cursor", c_char_p), ("limit", c_uint32),
                ("waiters", c_bool), ("quorum", c_bool)]


class _Position(lib.Fields):
    _fields_ = [("shard", c_uint32), ("index", c_uint64)]


class ReadOptions(lib.Fields):
    _fields_ = [("struct_bytes", c_size_t), ("consistency", c_int32), ("max_staleness_ms", c_int64),
                ("after", POINTER(_Position)), ("after_count", c_size_t), ("node_id", c_uint32)]


class FreshnessFields(ctypes.Structure):
    _fields_ = [("shard", c_uint32), ("index", c_uint64), ("age_ms", c_int64)]


_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_describe": (c_int32, [_HANDLE, c_char_p, c_bool, POINTER(c_void_p), _ERROR]),
    "gcoord_description_free": (None, [_HANDLE]),
    "gcoord_description_lock": (_Facts, [_HANDLE]),
    "gcoord_description_waiters": (c_size_t, [_HANDLE]),
    "gcoord_description_waiter": (_Waiter, [_HANDLE, c_size_t]),
    "gcoord_description_sharers": (c_size_t, [_HANDLE]),
    "gcoord_description_sharer": (_Sharer, [_HANDLE, c_size_t]),
    "gcoord_list_options_init": (None, [POINTER(_ListOptions)]),
    "gcoord_list": (c_int32, [_HANDLE, POINTER(_ListOptions), POINTER(c_void_p), _ERROR]),
    "gcoord_page_free": (None, [_HANDLE]),
    "gcoord_page_size": (c_size_t, [_HANDLE]),
    "gcoord_page_lock": (c_void_p, [_HANDLE, c_size_t]),
    "gcoord_page_cursor": (c_char_p, [_HANDLE]),
    "gcoord_page_complete": (c_bool, [_HANDLE]),
    "gcoord_page_node_id": (c_uint32, [_HANDLE]),
    "gcoord_page_shards": (c_size_t, [_HANDLE]),
    "gcoord_page_shard": (FreshnessFields, [_HANDLE, c_size_t]),
    "gcoord_read_options_init": (None, [POINTER(ReadOptions)]),
    "gcoord_read": (c_int32, [_HANDLE, c_char_p, POINTER(ReadOptions), POINTER(c_void_p), POINTER(FreshnessFields), _ERROR]),
    "gcoord_read_at": (
        c_int32, [_HANDLE, c_char_p, c_uint64, c_uint32, POINTER(c_void_p), POINTER(FreshnessFields), _ERROR]),
    "gcoord_read_check": (
        c_int32,
        [_HANDLE, c_char_p, c_uint64, POINTER(ReadOptions), POINTER(c_int32), POINTER(FreshnessFields), _ERROR]),
    "gcoord_read_batch": (
        c_int32, [_HANDLE, POINTER(c_char_p), c_size_t, POINTER(ReadOptions), POINTER(c_void_p), POINTER(FreshnessFields),
                  POINTER(c_size_t), _ERROR]),
    "gcoord_read_check_batch": (
        c_int32, [_HANDLE, POINTER(c_char_p), POINTER(c_uint64), c_size_t, POINTER(ReadOptions), POINTER(c_int32),
                  POINTER(FreshnessFields), POINTER(c_size_t), _ERROR]),
    "gcoord_read_list": (
        c_int32, [_HANDLE, POINTER(_ListOptions), POINTER(ReadOptions), POINTER(c_void_p), _ERROR]),
    "gcoord_positions": (c_size_t, [_HANDLE, POINTER(_Position), c_size_t]),
})


def _text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")


def _described(handle: int) -> LockDescription:
    library = lib.library()
    facts = library.gcoord_description_lock(handle)
    waiters = [library.gcoord_description_waiter(handle, k) for k in range(library.gcoord_description_waiters(handle))]
    sharers = [library.gcoord_description_sharer(handle, k) for k in range(library.gcoord_description_sharers(handle))]
    return LockDescription(
        name=_text(facts.name), shard=facts.shard, holder_session=facts.holder_session, token=facts.token,
        acquired_index=facts.acquired_index, ttl_left=facts.ttl_left_ms / 1000, waiter_count=facts.waiter_count,
        waiters=[Waiter(each.session_id, each.sequence, each.waited_ms / 1000) for each in waiters],
        hold_count=facts.hold_count, permits_max=facts.permits_max,
        note=ctypes.string_at(facts.note, facts.note_bytes) if facts.note_bytes else b"",
        holders=[Sharer(each.session_id, each.token, each.acquired_index, each.permits) for each in sharers])


def taken(handle: Optional[int]) -> Optional[LockDescription]:
    """What a description says, which is freed."""
    if not handle:
        return None
    try:
        return _described(handle)
    finally:
        lib.library().gcoord_description_free(handle)


def fresh(at: FreshnessFields) -> Freshness:
    return Freshness(at.shard, at.index, at.age_ms / 1000 if at.age_ms >= 0 else None)


def _list_options(prefix: str, cursor: str, limit: int, waiters: bool = False, quorum: bool = False) -> _ListOptions:
    options = _ListOptions()
    lib.library().gcoord_list_options_init(byref(options))
    options.prefix, options.cursor, options.limit = lib.text(prefix), lib.text(cursor), limit
    options.waiters, options.quorum = waiters, quorum
    return options


def names_of(names: Sequence[str]) -> "ctypes.Array[c_char_p]":
    return (c_char_p * len(names))(*(lib.text(name) for name in names))


def checks_of(checks: Iterable[Tuple[str, int]]) -> Tuple[Any, Any, int]:
    """Names, their tokens, and how many there are."""
    asked = list(checks)
    tokens = (c_uint64 * len(asked))()
    for place, (_, token) in enumerate(asked):
        lib.check_fits(c_uint64, token)  # The array would cut it.
        tokens[place] = token
    return names_of([name for name, _ in asked]), tokens, len(asked)


class Looks:
    """What Client offers for looking at locks. Its handle is the client's."""

    def _pointer(self) -> int:
        raise NotImplementedError

    def get(self, name: str, waiters: bool = False) -> LockDescription:
        """Who holds a lock, linearizably; GC6016 when it is neither held nor waited for."""
        found = c_void_p()
        lib.call("gcoord_describe", self._pointer(), lib.text(name), waiters, byref(found))
        described = taken(found.value)
        assert described is not None
        return described

    def get_async(self, name: str, waiters: bool = False) -> "Future[LockDescription]":
        future: "Future[LockDescription]" = Future()
        lib.start("gcoord_describe_async", future, lambda handle, _=self: taken(handle),
                  (self._pointer(), lib.text(name), waiters), lib.on_handle)
        return future

    def list(self, prefix: str = "", cursor: str = "", limit: int = 100, *, waiters: bool = False,
             quorum: bool = False) -> LockPage:
        """The locks of all nodes, page by page."""
        page = c_void_p()
        lib.call("gcoord_list", self._pointer(), byref(_list_options(prefix, cursor, limit, waiters, quorum)), byref(page))
        return _page(page.value or 0)[0]

    def read(self, name: str, consistency: Consistency = Consistency.LEASE, *, max_staleness: float = 0,
             after: Iterable[Position] = (), node_id: int = 0) -> LockReading:
        """A lock as fresh as asked: `max_staleness` of BOUNDED, `after` of MONOTONIC; GC6304, GC6305."""
        found, at = c_void_p(), FreshnessFields()
        how = read_options(consistency, max_staleness, after, node_id)
        lib.call("gcoord_read", self._pointer(), lib.text(name), byref(how), byref(found), byref(at))
        return LockReading(taken(found.value), fresh(at))

    def read_at(self, name: str, index: int, node_id: int = 0) -> LockReading:
        """A lock as it was when its shard's log had come to an index, which earlier answers name (LockReading.at,
        LockDescription.acquired_index); node_id 0: of the shard's leader, else of any node that has
        it. GC6320, GC6321, GC6322, GC6323."""
        found, at = c_void_p(), FreshnessFields()
        lib.call("gcoord_read_at", self._pointer(), lib.text(name), index, node_id, byref(found), byref(at))
        return LockReading(taken(found.value), fresh(at))

    def read_check(self, name: str, token: int, consistency: Consistency = Consistency.LEASE, *,
                   max_staleness: float = 0, after: Iterable[Position] = (), node_id: int = 0) -> VerdictReading:
        verdict, at = c_int32(), FreshnessFields()
        how = read_options(consistency, max_staleness, after, node_id)
        lib.call("gcoord_read_check", self._pointer(), lib.text(name), token, byref(how), byref(verdict), byref(at))
        return VerdictReading(Verdict(verdict.value), fresh(at))

    def read_batch(self, names: Iterable[str], consistency: Consistency = Consistency.LEASE, *,
                   max_staleness: float = 0, after: Iterable[Position] = (), node_id: int = 0) -> BatchReading:
        """Many in few messages, of any shards; fails as a whole. Answers are descriptions, or None."""
        asked = list(names)
        found, shards, count = (c_void_p * len(asked))(), (FreshnessFields * len(asked))(), c_size_t()
        how = read_options(consistency, max_staleness, after, node_id)
        lib.call("gcoord_read_batch", self._pointer(), names_of(asked), len(asked), byref(how), found, shards, byref(count))
        return BatchReading([taken(each) for each in found], [fresh(shards[k]) for k in range(count.value)])

    def read_check_batch(self, checks: Iterable[Tuple[str, int]], consistency: Consistency = Consistency.LEASE, *,
                         max_staleness: float = 0, after: Iterable[Position] = (), node_id: int = 0) -> BatchReading:
        names, tokens, asked = checks_of(checks)
        verdicts, shards, count = (c_int32 * asked)(), (FreshnessFields * asked)(), c_size_t()
        how = read_options(consistency, max_staleness, after, node_id)
        lib.call("gcoord_read_check_batch", self._pointer(), names, tokens, asked, byref(how), verdicts, shards,
                 byref(count))
        return BatchReading([Verdict(each) for each in verdicts], [fresh(shards[k]) for k in range(count.value)])

    def read_list(self, prefix: str = "", cursor: str = "", limit: int = 100,
                  consistency: Consistency = Consistency.SERIALIZABLE, *, max_staleness: float = 0,
                  after: Iterable[Position] = (), node_id: int = 0) -> ReadPage:
        """A page of what one node holds; for the next page name that node, whose cursor it is."""
        page = c_void_p()
        how = read_options(consistency, max_staleness, after, node_id)
        lib.call("gcoord_read_list", self._pointer(), byref(_list_options(prefix, cursor, limit)), byref(how), byref(page))
        listed, node, shards = _page(page.value or 0)
        return ReadPage(listed, node, shards)

    def positions(self) -> List[Position]:
        """How far this client has seen, by its writes and reads."""
        count = lib.library().gcoord_positions(self._pointer(), None, 0)
        places = (_Position * count)()
        known = lib.library().gcoord_positions(self._pointer(), places, count)
        return [Position(place.shard, place.index) for place in places[:known]]


def _page(handle: int) -> Tuple[LockPage, int, List[Freshness]]:
    """What a page says, which is freed."""
    library = lib.library()
    try:
        locks = [_described(library.gcoord_page_lock(handle, k)) for k in range(library.gcoord_page_size(handle))]
        page = LockPage(locks, _text(library.gcoord_page_cursor(handle)), library.gcoord_page_complete(handle))
        shards = [fresh(library.gcoord_page_shard(handle, k)) for k in range(library.gcoord_page_shards(handle))]
        return page, library.gcoord_page_node_id(handle), shards
    finally:
        library.gcoord_page_free(handle)


def read_options(consistency: Consistency, max_staleness: float, after: Iterable[Position],
                  node_id: int) -> ReadOptions:
    options = ReadOptions()
    lib.library().gcoord_read_options_init(byref(options))
    places = [(place.shard, place.index) for place in after]
    options.consistency, options.node_id = consistency, node_id
    options.max_staleness_ms = lib.milliseconds(max_staleness)
    options.after = (_Position * len(places))(*(_Position(*place) for place in places))
    options.after_count = len(places)
    return options
