"""Reads that do not wait: those of looks.py, as futures."""

import ctypes
from concurrent.futures import Future
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Iterable, List, Tuple

from . import _library as lib
from .looks import FreshnessFields, ReadOptions, checks_of, fresh, names_of, read_options, taken
from .types import BatchReading, Consistency, LockReading, Position, Verdict, VerdictReading

_FRESHNESS = POINTER(FreshnessFields)
_ERROR = POINTER(lib.Error)

_ReadingCallback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, _FRESHNESS, _ERROR)
_VerdictCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int32, _FRESHNESS, _ERROR)
_ReadingsCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c_void_p), c_size_t, _FRESHNESS, c_size_t, _ERROR)
_VerdictsCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c_int32), c_size_t, _FRESHNESS, c_size_t, _ERROR)

_HANDLE = c_void_p
_OPTIONS = POINTER(ReadOptions)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_read_async": (c_int32, [_HANDLE, c_char_p, _OPTIONS, _ReadingCallback, c_void_p, _ERROR]),
    "gcoord_read_at_async": (c_int32, [_HANDLE, c_char_p, c_uint64, c_uint32, _ReadingCallback, c_void_p, _ERROR]),
    "gcoord_read_check_async": (c_int32, [_HANDLE, c_char_p, c_uint64, _OPTIONS, _VerdictCallback, c_void_p, _ERROR]),
    "gcoord_read_batch_async": (
        c_int32, [_HANDLE, POINTER(c_char_p), c_size_t, _OPTIONS, _ReadingsCallback, c_void_p, _ERROR]),
    "gcoord_read_check_batch_async": (
        c_int32, [_HANDLE, POINTER(c_char_p), POINTER(c_uint64), c_size_t, _OPTIONS, _VerdictsCallback, c_void_p, _ERROR]),
    "gcoord_check_batch_async": (
        c_int32, [_HANDLE, POINTER(c_char_p), POINTER(c_uint64), c_size_t, _VerdictsCallback, c_void_p, _ERROR]),
})


@_ReadingCallback
def _on_reading(number, lock, at, error):  # type: ignore[no-untyped-def]
    lib._once(number, lock, at, lib._reason(error))


@_VerdictCallback
def _on_verdict(number, verdict, at, error):  # type: ignore[no-untyped-def]
    lib._once(number, verdict, at, lib._reason(error))


@_ReadingsCallback
def _on_readings(number, locks, count, shards, shard_count, error):  # type: ignore[no-untyped-def]
    lib._once(number, locks, count, shards, shard_count, lib._reason(error))


@_VerdictsCallback
def _on_verdicts(number, verdicts, count, shards, shard_count, error):  # type: ignore[no-untyped-def]
    lib._once(number, verdicts, count, shards, shard_count, lib._reason(error))


def _reading(lock: Any, at: Any) -> LockReading:
    return LockReading(taken(lock), fresh(at.contents))


def _readings(locks: Any, count: int, shards: Any, shard_count: int) -> BatchReading:
    return BatchReading([taken(each) for each in locks[:count]], [fresh(each) for each in shards[:shard_count]])


def _verdicts(verdicts: Any, count: int, shards: Any, shard_count: int) -> BatchReading:
    return BatchReading([Verdict(each) for each in verdicts[:count]], [fresh(each) for each in shards[:shard_count]])


class LooksAsync:
    """What Client offers for looking without waiting. Its handle is the client's; arguments and answers are those of the
    methods without _async."""

    def _pointer(self) -> int:
        raise NotImplementedError

    def _start(self, function: str, finish: Any, arguments: Tuple[Any, ...], callback: Any) -> "Future[Any]":
        future: "Future[Any]" = Future()
        lib.start(function, future, lambda *brought, _=self: finish(*brought), (self._pointer(), *arguments), callback)
        return future

    def read_async(self, name: str, consistency: Consistency = Consistency.LEASE, *, max_staleness: float = 0,
                   after: Iterable[Position] = (), node_id: int = 0) -> "Future[LockReading]":
        how = read_options(consistency, max_staleness, after, node_id)
        return self._start("gcoord_read_async", _reading, (lib.text(name), byref(how)), _on_reading)

    def read_at_async(self, name: str, index: int, node_id: int = 0) -> "Future[LockReading]":
        return self._start("gcoord_read_at_async", _reading, (lib.text(name), index, node_id), _on_reading)

    def read_check_async(self, name: str, token: int, consistency: Consistency = Consistency.LEASE, *,
                         max_staleness: float = 0, after: Iterable[Position] = (),
                         node_id: int = 0) -> "Future[VerdictReading]":
        how = read_options(consistency, max_staleness, after, node_id)
        return self._start("gcoord_read_check_async",
                           lambda verdict, at: VerdictReading(Verdict(verdict), fresh(at.contents)),
                           (lib.text(name), token, byref(how)), _on_verdict)

    def read_batch_async(self, names: Iterable[str], consistency: Consistency = Consistency.LEASE, *,
                         max_staleness: float = 0, after: Iterable[Position] = (),
                         node_id: int = 0) -> "Future[BatchReading]":
        asked, how = list(names), read_options(consistency, max_staleness, after, node_id)
        return self._start("gcoord_read_batch_async", _readings, (names_of(asked), len(asked), byref(how)), _on_readings)

    def read_check_batch_async(self, checks: Iterable[Tuple[str, int]], consistency: Consistency = Consistency.LEASE, *,
                               max_staleness: float = 0, after: Iterable[Position] = (),
                               node_id: int = 0) -> "Future[BatchReading]":
        how = read_options(consistency, max_staleness, after, node_id)
        return self._start("gcoord_read_check_batch_async", _verdicts, (*checks_of(checks), byref(how)), _on_verdicts)

    def check_batch_async(self, checks: Iterable[Tuple[str, int]]) -> "Future[List[Verdict]]":
        return self._start("gcoord_check_batch_async", lambda *brought: _verdicts(*brought).answers,
                           checks_of(checks), _on_verdicts)
