"""Limits of clients, and who is denied the cluster (gcoord/limits.h)."""

import ctypes
import enum
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, sizeof
from dataclasses import dataclass
from typing import Optional

from . import _library as lib


class LimitScope(enum.IntEnum):
    """PRINCIPAL: by its name; "-": each address of clients that have proven nobody; "*": each principal and address without
    a limit of its own. PREFIX: all clients together, on names that begin so. NETWORK: as "192.0.2.0/24"."""

    PRINCIPAL = 1
    PREFIX = 2
    NETWORK = 3


@dataclass(frozen=True)
class Limit:
    """0: no limit of this kind."""

    scope: LimitScope
    name: str
    rate: int = 0  # Requests a second at each node.
    burst: int = 0  # At once, 1 at least where there is a rate.
    connections: int = 0
    sessions: int = 0
    locks: int = 0  # Held by its sessions.
    waiters: int = 0  # Its requests that wait for locks.
    watches: int = 0
    bytes: int = 0  # Of replies that a node keeps because its clients do not read.
    session_ttl_max: float = 0.0  # The longest TTL of its sessions in seconds, 0.1 to 86,400 (GC6745, GC6746).


class DenialScope(enum.IntEnum):
    PRINCIPAL = 1
    SERIAL = 2  # Of a certificate, in hexadecimal digits.
    CERTIFICATE_NAME = 3  # A subject alternative name, or the common name.
    NETWORK = 4  # An address or a network; loopback cannot be denied.


@dataclass(frozen=True)
class Denial:
    scope: DenialScope
    name: str
    reason: str = ""  # For operators.
    until: float = 0.0  # Unix time of its end, in seconds; not read in a change.


class LimitsAction(enum.IntEnum):
    SET = 1  # limit, in the place of one of that scope and name.
    REMOVE = 2  # The limit of that scope and name.
    DENY = 3  # denial, for the duration; in the place of one of that scope and name.
    ALLOW = 4  # Ends the denial of that scope and name.


@dataclass(frozen=True)
class LimitsReport:
    epoch: int  # 0: there are none, and never were.
    limit_count: int
    denial_count: int
    limits: "list[Limit]"
    denials: "list[Denial]"  # Those that have not ended, by the clock of the node.
    more: bool  # Rows behind the last one were left out.


class _Limit(lib.Fields):
    _fields_ = [
        ("scope", c_int32), ("name", c_char_p), ("rate", c_uint32), ("burst", c_uint32), ("connections", c_uint32),
        ("sessions", c_uint32), ("locks", c_uint32), ("waiters", c_uint32), ("watches", c_uint32), ("bytes", c_uint64),
    ]


class _Denial(lib.Fields):
    _fields_ = [("scope", c_int32), ("name", c_char_p), ("until_ms", c_uint64), ("reason", c_char_p)]


class _Change(lib.Fields):
    _fields_ = [
        ("struct_bytes", c_size_t), ("action", c_int32), ("limit", _Limit), ("denial", _Denial), ("duration_ms", c_uint64),
        ("epoch", c_uint64), ("dry_run", c_bool), ("who", c_char_p), ("session_ttl_ms_max", c_uint32),
    ]


class _Query(lib.Fields):
    _fields_ = [("struct_bytes", c_size_t), ("denials", c_bool), ("after_scope", c_int32), ("after_name", c_char_p),
                ("node_id", c_uint32)]


class _Facts(ctypes.Structure):
    _fields_ = [("epoch", c_uint64), ("limit_count", c_uint32), ("denial_count", c_uint32), ("more", c_bool)]


_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_limits_change_init_as": (None, [POINTER(_Change), c_size_t]),
    "gcoord_limits_query_init": (None, [POINTER(_Query)]),
    "gcoord_limits": (c_int32, [_HANDLE, POINTER(_Query), POINTER(c_void_p), _ERROR]),
    "gcoord_limits_async": (c_int32, [_HANDLE, POINTER(_Query), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_change_limits": (c_int32, [_HANDLE, POINTER(_Change), POINTER(c_void_p), _ERROR]),
    "gcoord_change_limits_async": (c_int32, [_HANDLE, POINTER(_Change), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_limits_report_free": (None, [_HANDLE]),
    "gcoord_limits_report_facts": (_Facts, [_HANDLE]),
    "gcoord_limits_report_limits": (c_size_t, [_HANDLE]),
    "gcoord_limits_report_limit": (_Limit, [_HANDLE, c_size_t]),
    "gcoord_limits_report_session_ttl_ms_max": (c_uint32, [_HANDLE, c_size_t]),
    "gcoord_limits_report_denials": (c_size_t, [_HANDLE]),
    "gcoord_limits_report_denial": (_Denial, [_HANDLE, c_size_t]),
})


def _limit(row: _Limit, session_ttl_ms_max: int) -> Limit:
    return Limit(LimitScope(row.scope), lib.said(row.name), row.rate, row.burst, row.connections, row.sessions, row.locks,
                 row.waiters, row.watches, row.bytes, session_ttl_ms_max / 1000)


def _denial(row: _Denial) -> Denial:
    return Denial(DenialScope(row.scope), lib.said(row.name), lib.said(row.reason), row.until_ms / 1000)


def _taken(handle: Optional[int]) -> LimitsReport:
    """What a report says, which is freed."""
    library = lib.library()
    try:
        facts = library.gcoord_limits_report_facts(handle)
        limits = [_limit(library.gcoord_limits_report_limit(handle, k),
                         library.gcoord_limits_report_session_ttl_ms_max(handle, k))
                  for k in range(library.gcoord_limits_report_limits(handle))]
        denials = [_denial(library.gcoord_limits_report_denial(handle, k))
                   for k in range(library.gcoord_limits_report_denials(handle))]
        return LimitsReport(facts.epoch, facts.limit_count, facts.denial_count, limits, denials, facts.more)
    finally:
        library.gcoord_limits_report_free(handle)


def _query(denials: bool, after_scope: int, after_name: str, node_id: int) -> _Query:
    query = _Query()
    lib.library().gcoord_limits_query_init(byref(query))
    query.denials, query.after_scope, query.after_name = denials, after_scope, lib.text(after_name)
    query.node_id = node_id
    return query


def _change(action: LimitsAction, limit: Optional[Limit], denial: Optional[Denial], duration: float) -> _Change:
    change = _Change()
    lib.library().gcoord_limits_change_init_as(byref(change), sizeof(change))
    change.action, change.duration_ms = action, max(0, lib.milliseconds(duration))
    if limit is not None:
        change.limit = _Limit(limit.scope, lib.text(limit.name), limit.rate, limit.burst, limit.connections,
                              limit.sessions, limit.locks, limit.waiters, limit.watches, limit.bytes)
        ttl_ms = lib.milliseconds(limit.session_ttl_max)
        change.session_ttl_ms_max = ttl_ms if 0 <= ttl_ms < 2 ** 32 else 1  # Which nodes refuse.
    if denial is not None:
        change.denial = _Denial(denial.scope, lib.text(denial.name), 0, lib.text(denial.reason, "reason"))
    return change


class Limits:
    """What Client offers for limits and denials. Its handle is the client's. Errors are those of Client::limits and
    Client::change_limits (gcoord/client.h)."""

    def _pointer(self) -> int:
        raise NotImplementedError

    def limits(self, *, denials: bool = False, after_scope: int = 0, after_name: str = "",
               node_id: int = 0) -> LimitsReport:
        """Limits, or who is denied: the rows behind that of this scope and name. node_id: what that node has applied, which
        may be older. GC6588, GC4005."""
        report = c_void_p()
        lib.call("gcoord_limits", self._pointer(), byref(_query(denials, after_scope, after_name, node_id)), byref(report))
        return _taken(report.value)

    def limits_async(self, *, denials: bool = False, after_scope: int = 0, after_name: str = "",
                     node_id: int = 0) -> "Future[LimitsReport]":
        future: "Future[LimitsReport]" = Future()
        lib.start("gcoord_limits_async", future, lambda handle, _=self: _taken(handle),
                  (self._pointer(), byref(_query(denials, after_scope, after_name, node_id))), lib.on_handle)
        return future

    def change_limits(self, action: LimitsAction, *, limit: Optional[Limit] = None, denial: Optional[Denial] = None,
                      duration: float = 0.0, epoch: int = 0, dry_run: bool = False, who: str = "") -> LimitsReport:
        """Changes them, in one entry of the ledger, and returns their state without rows. SET and REMOVE take a limit, DENY
        and ALLOW a denial, DENY for a duration of 1 second to 30 days. epoch: change this one only (GC6586). GC6583 to
        GC6587, GC6591 to GC6593: nothing is changed then."""
        change, report = _change(action, limit, denial, duration), c_void_p()
        change.epoch, change.dry_run, change.who = epoch, dry_run, lib.text(who)
        lib.call("gcoord_change_limits", self._pointer(), byref(change), byref(report))
        return _taken(report.value)

    def change_limits_async(self, action: LimitsAction, *, limit: Optional[Limit] = None, denial: Optional[Denial] = None,
                            duration: float = 0.0, epoch: int = 0, dry_run: bool = False,
                            who: str = "") -> "Future[LimitsReport]":
        change = _change(action, limit, denial, duration)
        change.epoch, change.dry_run, change.who = epoch, dry_run, lib.text(who)
        future: "Future[LimitsReport]" = Future()
        lib.start("gcoord_change_limits_async", future, lambda handle, _=self: _taken(handle),
                  (self._pointer(), byref(change)), lib.on_handle)
        return future
