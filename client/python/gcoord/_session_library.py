"""The C library's sessions with options (gcoord/gcoord_sessions.h), by ctypes."""

import ctypes
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Optional, Sequence, Union

from . import _library as lib
from ._handle import Handle
from .types import CheckReport, HealthCheck, LostLock, SessionEvent, UnhealthyAction


class _Check(lib.Fields):
    _fields_ = [("what", c_char_p), ("interval_ms", c_int64), ("timeout_ms", c_int64), ("failures", c_uint32)]


class _Report(ctypes.Structure):
    _fields_ = [("check", c_size_t), ("passing", c_bool), ("failures_in_row", c_uint32), ("session_healthy", c_bool),
                ("evidence", c_char_p)]


LostCallback = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64)
ReportCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(_Report))


class Options(lib.Fields):
    _fields_ = [
        ("struct_bytes", c_size_t), ("ttl_ms", c_int64), ("session_id", c_uint64), ("on_event", lib.EventCallback),
        ("on_lost", LostCallback), ("on_report", ReportCallback), ("user", c_void_p), ("checks", POINTER(_Check)),
        ("check_count", c_size_t), ("on_unhealthy", c_int32), ("session_key", c_char_p),
    ]


class _Notice(ctypes.Structure):
    _fields_ = [("event", c_int32), ("name", c_char_p), ("token", c_uint64)]


class Facts(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("alive", c_bool), ("granted", c_bool), ("ttl_ms", c_int64),
                ("remaining_ms", c_int64), ("shard_count", c_uint32), ("lock_count", c_uint32)]


class Origin(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("since_ms", c_uint64), ("principal_kind", c_char_p), ("principal", c_char_p),
                ("address_class", c_char_p), ("address", c_char_p), ("client", c_char_p)]


class ListOptions(lib.Fields):
    _fields_ = [("struct_bytes", c_size_t), ("filter", c_int32), ("remaining_below_ms", c_int64), ("limit", c_uint32),
                ("count_only", c_bool), ("cursor", c_char_p)]


FactsCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Facts), POINTER(lib.Error))

_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_session_options_init_as": (None, [POINTER(Options), c_size_t]),
    "gcoord_session_key": (c_int32, [_HANDLE, c_void_p, c_size_t, _ERROR]),
    "gcoord_session_origins": (c_int32, [_HANDLE, POINTER(c_uint64), c_size_t, POINTER(c_void_p), _ERROR]),
    "gcoord_session_origins_async": (
        c_int32, [_HANDLE, POINTER(c_uint64), c_size_t, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_holder_origins": (c_int32, [_HANDLE, c_char_p, POINTER(c_void_p), _ERROR]),
    "gcoord_holder_origins_async": (c_int32, [_HANDLE, c_char_p, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_origins_free": (None, [_HANDLE]),
    "gcoord_origins_size": (c_size_t, [_HANDLE]),
    "gcoord_origins_get": (Origin, [_HANDLE, c_size_t]),
    "gcoord_session_open_as": (c_int32, [_HANDLE, POINTER(Options), POINTER(c_void_p), _ERROR]),
    "gcoord_session_grant": (c_int32, [_HANDLE, POINTER(Options), POINTER(c_void_p), _ERROR]),
    "gcoord_session_open_as_async": (c_int32, [_HANDLE, POINTER(Options), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_session_grant_async": (c_int32, [_HANDLE, POINTER(Options), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_session_attach": (c_int32, [_HANDLE, POINTER(Options), c_bool, c_uint64, POINTER(c_void_p), _ERROR]),
    "gcoord_session_event_fd": (c_int32, [_HANDLE, POINTER(c_int), _ERROR]),
    "gcoord_session_next_event": (c_int32, [_HANDLE, POINTER(_Notice), _ERROR]),
    "gcoord_lease_event_fd": (c_int32, [_HANDLE, POINTER(c_int), _ERROR]),
    "gcoord_lease_next_event": (c_int32, [_HANDLE, POINTER(_Notice), _ERROR]),
    "gcoord_lease_take_stoppable_async": (
        c_int32, [_HANDLE, c_char_p, POINTER(Options), c_int64, _HANDLE, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_session_healthy": (c_bool, [_HANDLE]),
    "gcoord_session_release": (c_int32, [_HANDLE, c_char_p, c_uint64, _ERROR]),
    "gcoord_session_proclaim": (c_int32, [_HANDLE, c_char_p, c_uint64, c_char_p, c_size_t, _ERROR]),
    "gcoord_session_transfer": (c_int32, [_HANDLE, c_char_p, c_uint64, c_uint64, _ERROR]),
    "gcoord_session_describe": (c_int32, [_HANDLE, c_uint64, POINTER(c_void_p), _ERROR]),
    "gcoord_session_describe_async": (c_int32, [_HANDLE, c_uint64, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_session_description_free": (None, [_HANDLE]),
    "gcoord_session_description_facts": (Facts, [_HANDLE]),
    "gcoord_session_description_keys": (c_size_t, [_HANDLE]),
    "gcoord_session_description_key": (c_char_p, [_HANDLE, c_size_t]),
    "gcoord_session_keep_alive_once": (c_int32, [_HANDLE, c_uint64, POINTER(Facts), _ERROR]),
    "gcoord_session_keep_alive_once_async": (c_int32, [_HANDLE, c_uint64, FactsCallback, c_void_p, _ERROR]),
    "gcoord_session_list_options_init": (None, [POINTER(ListOptions)]),
    "gcoord_session_list": (c_int32, [_HANDLE, POINTER(ListOptions), POINTER(c_void_p), _ERROR]),
    "gcoord_session_page_free": (None, [_HANDLE]),
    "gcoord_session_page_size": (c_size_t, [_HANDLE]),
    "gcoord_session_page_facts": (Facts, [_HANDLE, c_size_t]),
    "gcoord_session_page_count": (c_uint64, [_HANDLE]),
    "gcoord_session_page_cursor": (c_char_p, [_HANDLE]),
    "gcoord_session_page_complete": (c_bool, [_HANDLE]),
})


@FactsCallback
def on_facts(number, facts, error):  # type: ignore[no-untyped-def]
    lib._once(number, facts, lib._reason(error))


class Listeners:
    """A session's callbacks; the library carries their number."""

    def __init__(self, on_event: Optional[Callable[[SessionEvent], None]],
                 on_lost: Optional[Callable[[LostLock], None]],
                 on_report: Optional[Callable[[CheckReport], None]]) -> None:
        self.on_event, self.on_lost, self.on_report = on_event, on_lost, on_report

    def __call__(self, event: int) -> None:
        if self.on_event is not None:
            self.on_event(SessionEvent(event))


@LostCallback
def _on_lost(number, name, token):  # type: ignore[no-untyped-def]
    listeners = lib._waiting.get(number)
    if isinstance(listeners, Listeners) and listeners.on_lost is not None:
        listeners.on_lost(LostLock(name.decode("utf-8", "surrogateescape"), token))


@ReportCallback
def _on_report(number, report):  # type: ignore[no-untyped-def]
    listeners = lib._waiting.get(number)
    told = report.contents
    if isinstance(listeners, Listeners) and listeners.on_report is not None:
        listeners.on_report(CheckReport(told.check, told.passing, told.failures_in_row, told.session_healthy,
                                        told.evidence.decode("utf-8", "replace")))


class Eventful:
    """What can be asked of a session, or of a lease's, by an event loop."""

    _handle: Handle
    _event_fd_function = ""
    _next_event_function = ""

    def fileno(self) -> int:
        """A descriptor for an event loop, so that selectors take the object itself and asyncio its number: readable exactly
        while next_event() would return something. It lives as long as the object: unregister it before that, close it
        never."""
        fd = c_int()
        lib.call(self._event_fd_function, self._handle.pointer(), byref(fd))
        return fd.value

    def next_event(self) -> "Union[SessionEvent, LostLock, None]":
        """What happened, from the first call of this or of fileno() on; None when there is nothing to tell. It does not wait.
        Nothing comes after EXPIRED, nor for close(); instead of LOCK_LOST the lost lock comes. One thread at a time."""
        told = _Notice()
        lib.call(self._next_event_function, self._handle.pointer(), byref(told))
        if told.event < 0:
            return None
        event = SessionEvent(told.event)
        if event is SessionEvent.LOCK_LOST:
            return LostLock(told.name.decode("utf-8", "surrogateescape"), told.token)
        return event


def options_of(ttl: float, session_id: int, number: int, listeners: Listeners, checks: Sequence[HealthCheck],
               on_unhealthy: UnhealthyAction) -> Options:
    options = Options()
    lib.library().gcoord_session_options_init_as(byref(options), ctypes.sizeof(options))
    options.ttl_ms, options.session_id, options.user = lib.milliseconds(ttl), session_id, number
    options.on_event = lib.on_event if listeners.on_event else lib.no_callback(lib.EventCallback)
    options.on_lost = _on_lost if listeners.on_lost else lib.no_callback(LostCallback)
    options.on_report = _on_report if listeners.on_report else lib.no_callback(ReportCallback)
    options.checks = (_Check * len(checks))(*(_check(each) for each in checks))
    options.check_count, options.on_unhealthy = len(checks), on_unhealthy
    return options


def _check(check: HealthCheck) -> _Check:
    """Zeros stand for defaults in C, but were given here: they are passed on as what is refused."""
    return _Check(lib.text(check.what, "health check"), lib.milliseconds(check.interval) or -1,
                  lib.milliseconds(check.timeout) or -1, check.failures if check.failures > 0 else 2**32 - 1)
