"""The C library (gcoord/gcoord.h), by ctypes: its functions, its structures, and callbacks into Python.

The library is what GCOORD_CLIENT_LIBRARY names, else what the system's loader finds as libgcoord_client.so.0. ctypes
releases Python's lock while a function runs, and takes it for callbacks.
"""

import ctypes
import itertools
import math
import os
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, Union

from .errors import GcoordError, make_error

ABI_VERSION = 0
FOREVER = -1

_SONAME = f"libgcoord_client.so.{ABI_VERSION}"


class Error(ctypes.Structure):
    _fields_ = [("status", c_int32), ("number", c_uint32), ("message", c_char * 1016)]

    def exception(self) -> GcoordError:
        return make_error(self.status, self.number, self.message.decode("utf-8", "replace"))


_RANGES = {c_int32: (-(1 << 31), 1 << 31), c_int64: (-(1 << 63), 1 << 63), c_uint32: (0, 1 << 32), c_uint64: (0, 1 << 64)}


def check_fits(kind: Any, value: Any) -> None:
    """ctypes would cut it, and ask for another shard, index or token than was meant."""
    low, beyond = _RANGES.get(kind, (0, 0))
    if beyond and not (isinstance(value, int) and low <= value < beyond):
        raise make_error(3, 1001, f"{value!r} does not fit {8 * ctypes.sizeof(kind)} bits. Use a whole number that does")


class Fields(ctypes.Structure):
    """A structure that the caller's numbers go into; ctypes calls this for those of its constructor too."""

    def __setattr__(self, name: str, value: Any) -> None:
        check_fits(next((kind for field, kind in self._fields_ if field == name), None), value)
        super().__setattr__(name, value)


ClockCallback = ctypes.CFUNCTYPE(c_int64, c_void_p)
CheckCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int32, POINTER(Error))
EventCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int32)
HandleCallback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, POINTER(Error))
DoneCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Error))


class CandidateFields(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("waited_ms", c_int64), ("priority", c_uint32), ("value", c_void_p),
                ("value_bytes", c_size_t)]


class HolderFields(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("token", c_uint64), ("ttl_left_ms", c_int64), ("waiter_count", c_uint32)]


HolderCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(HolderFields), POINTER(Error))
LineCallback = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, POINTER(CandidateFields), c_size_t, POINTER(Error))
CandidateCallback = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_uint64, POINTER(CandidateFields))


class CampaignFields(Fields):
    _fields_ = [("wait_ms", c_int64), ("value", c_char_p), ("value_bytes", c_size_t), ("priority", c_uint32),
                ("hysteresis_ms", c_int64), ("review_ms", c_int64)]


class ClientOptions(Fields):
    _fields_ = [
        ("struct_bytes", c_size_t), ("endpoints", c_char_p), ("connect_timeout_ms", c_int64),
        ("request_timeout_ms", c_int64), ("drift_divisor", c_uint32), ("drift_margin_ms", c_int64),
        ("cluster_id", c_uint64), ("client_name", c_char_p), ("wait_for_cluster", c_bool),
        ("now_ns", ClockCallback), ("now_user", c_void_p), ("backoff_min_ms", c_int64), ("backoff_max_ms", c_int64),
        ("retry_budget", c_uint32), ("breaker_failures", c_uint32), ("fail_fast", c_bool),
        ("cacert", c_char_p), ("cert", c_char_p), ("key", c_char_p), ("server_name", c_char_p), ("tls", c_bool),
        ("user", c_char_p), ("password", c_char_p), ("token", c_char_p), ("token_file", c_char_p),
        ("insecure_credentials", c_bool),
    ]


_HANDLE = c_void_p
_HANDLE_OUT = POINTER(c_void_p)
_ERROR = POINTER(Error)

# Name -> (result, arguments). A status is an int32.
_FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "gcoord_abi_version": (c_uint32, []),
    "gcoord_client_options_init_as": (None, [POINTER(ClientOptions), c_size_t]),
    "gcoord_client_connect": (c_int32, [POINTER(ClientOptions), _HANDLE_OUT, _ERROR]),
    "gcoord_client_close": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_client_free": (c_int32, [_HANDLE]),
    "gcoord_client_clock_moved": (None, [_HANDLE]),
    "gcoord_client_now_ns": (c_int64, [_HANDLE]),
    "gcoord_check": (c_int32, [_HANDLE, c_char_p, c_uint64, POINTER(c_int32), _ERROR]),
    "gcoord_check_async": (c_int32, [_HANDLE, c_char_p, c_uint64, CheckCallback, c_void_p, _ERROR]),
    "gcoord_check_batch": (c_int32, [_HANDLE, POINTER(c_char_p), POINTER(c_uint64), c_size_t, POINTER(c_int32), _ERROR]),
    "gcoord_lock_break": (c_int32, [_HANDLE, c_char_p, c_uint64, c_char_p, c_char_p, POINTER(HolderFields), _ERROR]),
    "gcoord_lock_break_async": (
        c_int32, [_HANDLE, c_char_p, c_uint64, c_char_p, c_char_p, HolderCallback, c_void_p, _ERROR]),
    "gcoord_lock_move": (c_int32, [_HANDLE, c_char_p, c_uint32, _ERROR]),
    "gcoord_lock_move_async": (c_int32, [_HANDLE, c_char_p, c_uint32, DoneCallback, c_void_p, _ERROR]),
    "gcoord_leader": (c_int32, [_HANDLE, c_char_p, POINTER(HolderFields), _ERROR]),
    "gcoord_candidates": (c_int32, [_HANDLE, c_char_p, CandidateCallback, c_void_p, _ERROR]),
    "gcoord_candidates_async": (c_int32, [_HANDLE, c_char_p, LineCallback, c_void_p, _ERROR]),
    "gcoord_ask_transfer": (c_int32, [_HANDLE, c_char_p, c_uint64, c_uint64, _ERROR]),
    "gcoord_ask_transfer_async": (c_int32, [_HANDLE, c_char_p, c_uint64, c_uint64, DoneCallback, c_void_p, _ERROR]),
    "gcoord_session_free": (None, [_HANDLE]),
    "gcoord_session_close": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_session_detach": (None, [_HANDLE]),
    "gcoord_session_renew": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_session_id": (c_uint64, [_HANDLE]),
    "gcoord_session_ttl_ms": (c_int64, [_HANDLE]),
    "gcoord_session_remaining_ms": (c_int64, [_HANDLE]),
    "gcoord_session_alive": (c_bool, [_HANDLE]),
    "gcoord_lock_free": (None, [_HANDLE]),
    "gcoord_lock_release": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_lock_detach": (None, [_HANDLE]),
    "gcoord_lock_name": (c_char_p, [_HANDLE]),
    "gcoord_lock_fence": (c_uint64, [_HANDLE]),
    "gcoord_lock_epoch": (c_uint64, [_HANDLE]),
    "gcoord_lock_already_held": (c_bool, [_HANDLE]),
    "gcoord_lock_valid": (c_bool, [_HANDLE]),
    "gcoord_lock_certain_until_ns": (c_int64, [_HANDLE]),
    "gcoord_session_certain_until_ns": (c_int64, [_HANDLE]),
    "gcoord_leader_async": (c_int32, [_HANDLE, c_char_p, HolderCallback, c_void_p, _ERROR]),
    "gcoord_describe_async": (c_int32, [_HANDLE, c_char_p, c_bool, HandleCallback, c_void_p, _ERROR]),
    "gcoord_lock_release_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_multi_lock_release_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_session_release_async": (c_int32, [_HANDLE, c_char_p, c_uint64, DoneCallback, c_void_p, _ERROR]),
    "gcoord_session_renew_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_session_close_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_session_proclaim_async": (
        c_int32, [_HANDLE, c_char_p, c_uint64, c_char_p, c_size_t, DoneCallback, c_void_p, _ERROR]),
    "gcoord_session_transfer_async": (
        c_int32, [_HANDLE, c_char_p, c_uint64, c_uint64, DoneCallback, c_void_p, _ERROR]),
    "gcoord_lease_renew_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_lease_release_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_election_proclaim_async": (c_int32, [_HANDLE, c_char_p, c_size_t, DoneCallback, c_void_p, _ERROR]),
    "gcoord_election_resign_async": (c_int32, [_HANDLE, DoneCallback, c_void_p, _ERROR]),
    "gcoord_election_transfer_async": (c_int32, [_HANDLE, c_uint64, DoneCallback, c_void_p, _ERROR]),
    "gcoord_lease_free": (None, [_HANDLE]),
    "gcoord_lease_release": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_lease_detach": (None, [_HANDLE]),
    "gcoord_lease_renew": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_lease_name": (c_char_p, [_HANDLE]),
    "gcoord_lease_fence": (c_uint64, [_HANDLE]),
    "gcoord_lease_session_id": (c_uint64, [_HANDLE]),
    "gcoord_lease_remaining_ms": (c_int64, [_HANDLE]),
    "gcoord_lease_certain_until_ns": (c_int64, [_HANDLE]),
    "gcoord_lease_valid": (c_bool, [_HANDLE]),
    "gcoord_stop_new": (_HANDLE, []),
    "gcoord_stop_request": (None, [_HANDLE]),
    "gcoord_stop_free": (None, [_HANDLE]),
    "gcoord_election_make": (c_int32, [_HANDLE, c_char_p, _HANDLE_OUT, _ERROR]),
    "gcoord_election_free": (None, [_HANDLE]),
    "gcoord_election_resign": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_election_campaign_async": (c_int32, [_HANDLE, c_int64, DoneCallback, c_void_p, _ERROR]),
    "gcoord_election_stand_async": (
        c_int32, [_HANDLE, POINTER(CampaignFields), DoneCallback, c_void_p, _ERROR]),
    "gcoord_election_proclaim": (c_int32, [_HANDLE, c_char_p, c_size_t, _ERROR]),
    "gcoord_election_transfer": (c_int32, [_HANDLE, c_uint64, _ERROR]),
    "gcoord_election_detach": (None, [_HANDLE]),
    "gcoord_campaign_options_init": (None, [POINTER(CampaignFields)]),
    "gcoord_election_name": (c_char_p, [_HANDLE]),
    "gcoord_election_is_leader": (c_bool, [_HANDLE]),
    "gcoord_election_is_leader_at": (c_bool, [_HANDLE, c_int64]),
    "gcoord_election_leader_until_ns": (c_int64, [_HANDLE]),
    "gcoord_election_epoch": (c_uint64, [_HANDLE]),
}

_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """Loaded at the first call. ImportError says what to do when it is not there."""
    global _loaded
    if _loaded is None:
        path = os.environ.get("GCOORD_CLIENT_LIBRARY") or _SONAME
        try:
            found = ctypes.CDLL(path)
        except OSError as reason:
            raise ImportError(f"{reason}. Install gcoord's client library, or name it in GCOORD_CLIENT_LIBRARY") from reason
        try:
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(found, name)
                function.restype, function.argtypes = result, arguments
        except AttributeError as reason:
            raise ImportError(f"{path} is older than this package: {reason}") from reason
        if found.gcoord_abi_version() != ABI_VERSION:
            raise ImportError(f"{path} has ABI {found.gcoord_abi_version()}, this package needs {ABI_VERSION}")
        _loaded = found
    return _loaded


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status and takes an Error last; raises what it says."""
    error, function = Error(), getattr(library(), name)
    for kind, value in zip(function.argtypes, arguments):
        check_fits(kind, value)
    if function(*arguments, byref(error)) != 0:
        raise error.exception()


def number(name: str, *arguments: Any) -> int:
    """What a function says that cannot fail."""
    result: int = getattr(library(), name)(*arguments)
    return result


def no_callback(kind: Any) -> Any:
    """NULL where the library takes a function of this kind."""
    return kind()


def truth(name: str, *arguments: Any) -> bool:
    result: bool = getattr(library(), name)(*arguments)
    return result


def words(name: str, *arguments: Any) -> str:
    result: bytes = getattr(library(), name)(*arguments)
    return result.decode("utf-8", "surrogateescape")


CLIENT_CLOSED = 4010


def client_closed() -> GcoordError:
    """As the library says it of what a client's end has ended."""
    return make_error(1, CLIENT_CLOSED, "the client was closed")


def refusal(number: int, message: str) -> GcoordError:
    """As the library says it of an argument; for what cannot be passed on to it."""
    return make_error(3, number, message)


def text(value: str, what: str = "name") -> bytes:
    """As the library takes it. A NUL would end it early, so it is refused as the library refuses what is like it."""
    if not isinstance(value, str):
        raise refusal(1001, f"{type(value).__name__} where text belongs. Use a str")
    if "\0" in value:
        raise refusal(1114, f"the {what} contains a control character. Use printable characters")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise refusal(1103, f"the {what} is not valid UTF-8. Use text that UTF-8 has") from None


Secret = Union[str, bytes, bytearray]


class SecretText:
    """A password, a token or a key as the library takes it: copied once, and wiped at the end of the `with` block. What was
    given is the caller's: a bytearray can be wiped, while a str or bytes, and the copy that a str needs, stay in memory until
    Python uses that for something else."""

    def __init__(self, value: Optional[Secret], what: str) -> None:
        self._room: Any = None
        if value is None:
            return
        given = text(value, what) if isinstance(value, str) else value
        if not isinstance(given, (bytes, bytearray)):
            raise refusal(1001, f"{type(value).__name__} where a {what} belongs. Use a str, bytes or a bytearray")
        if 0 in given:
            raise refusal(1114, f"the {what} contains a control character. Use printable characters")
        self._room = (c_char * (len(given) + 1))()
        if given:
            source: Any = given if isinstance(given, bytes) else (c_char * len(given)).from_buffer(given)
            ctypes.memmove(self._room, source, len(given))

    @property
    def pointer(self) -> Optional[c_char_p]:
        """NULL where there is none. Lives as long as this object."""
        return None if self._room is None else ctypes.cast(self._room, c_char_p)

    def __enter__(self) -> "SecretText":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._room is not None:
            ctypes.memset(self._room, 0, ctypes.sizeof(self._room))


def secret_at(address: Optional[int]) -> bytearray:
    """The text at an address, of which nothing but this is left in Python's memory."""
    count = 0
    while address and c_char.from_address(address + count).value != b"\0":
        count += 1
    return bytearray((c_char * count).from_address(address)) if address and count else bytearray()


def said(value: Optional[bytes]) -> str:
    """A text of the library's."""
    return (value or b"").decode("utf-8", "surrogateescape")


def texts_of(array: Any, count: int) -> List[str]:
    return [said(each) for each in array[:count]]


def octets(value: bytes) -> bytes:
    """What others read of a lock or a leader."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise refusal(1001, f"{type(value).__name__} where bytes belong. Use bytes, or str.encode()")
    return bytes(value)


_FAR_MS = 9 * 10**12  # Some 285 years: beyond every bound that the library knows, and it reckons in nanoseconds.


def milliseconds(seconds: float) -> int:
    """What is too long, however long, is passed on as something that the library refuses as such."""
    try:
        if math.isnan(seconds):
            raise refusal(1001, "nan where a time belongs. Use seconds")
    except TypeError:
        raise refusal(1001, f"{type(seconds).__name__} where a time belongs. Use seconds") from None
    except OverflowError:  # An int that no float can hold.
        return _FAR_MS if seconds > 0 else -_FAR_MS
    return round(max(-_FAR_MS, min(_FAR_MS, seconds * 1000)))


def wait_of(seconds: Optional[float]) -> int:
    """None: for ever. What is negative is passed on as something that the library refuses."""
    if seconds is None:
        return FOREVER
    whole = milliseconds(seconds)
    return whole if seconds >= 0 else FOREVER - 1


# ---- callbacks -------------------------------------------------------------------------------------------------------

_numbers = itertools.count(1)
_waiting: Dict[int, Any] = {}  # By the number that the library carries as `user`.


def expect(callback: Any) -> int:
    """A number for a callback; forget() ends it."""
    number = next(_numbers)
    _waiting[number] = callback
    return number


def forget(number: int, waiting: Dict[int, Any] = _waiting) -> None:
    waiting.pop(number, None)


def _once(number: int, *outcome: Any) -> None:
    _waiting.pop(number)(*outcome)


def _reason(error: Any) -> Optional[GcoordError]:
    return error.contents.exception() if error else None


@CheckCallback
def on_checked(number, verdict, error):  # type: ignore[no-untyped-def]
    _once(number, verdict, _reason(error))


@HandleCallback
def on_handle(number, handle, error):  # type: ignore[no-untyped-def]
    _once(number, handle, _reason(error))


@HolderCallback
def on_holder(number, holder, error):  # type: ignore[no-untyped-def]
    _once(number, holder, _reason(error))


@LineCallback
def on_line(number, epoch, line, count, error):  # type: ignore[no-untyped-def]
    _once(number, epoch, line, count, _reason(error))


@DoneCallback
def on_done(number, error):  # type: ignore[no-untyped-def]
    _once(number, _reason(error))


@EventCallback
def on_event(number, event):  # type: ignore[no-untyped-def]
    callback = _waiting.get(number)
    if callback is not None:
        callback(event)


class Stop:
    """What ends a wait of the library when the future of it is cancelled."""

    def __init__(self) -> None:
        self._free = library().gcoord_stop_free  # Kept: at the interpreter's end modules go before objects.
        self.pointer = library().gcoord_stop_new()

    def follow(self, future: "Future[Any]") -> None:
        future.add_done_callback(lambda done: self._request() if done.cancelled() else None)

    def _request(self) -> None:
        library().gcoord_stop_request(self.pointer)

    def __del__(self) -> None:
        self._free(self.pointer)


def start_done(name: str, keep: Any, *arguments: Any) -> "Future[None]":
    """The same of a function that brings nothing; `keep` is kept until then."""
    future: "Future[None]" = Future()
    start(name, future, lambda _=keep: None, arguments, on_done)
    return future


def start(name: str, future: "Future[Any]", finish: Callable[..., Any], arguments: Tuple[Any, ...], callback: Any,
          on_failure: Callable[[], None] = lambda: None) -> None:
    """Calls an async function; the future gets finish(what the callback brought), or the error. finish is kept until then,
    and with it what it needs: the callback may come when nobody else has the object that was asked. on_failure is called
    when nothing was brought, or nothing begun.

    A future that was cancelled gets nothing: what comes for it all the same is made and, since nobody has it, given back.
    A wait for a lock has a Stop besides, which ends it."""

    def done(*outcome: Any) -> None:
        *brought, error = outcome
        wanted = future.set_running_or_notify_cancel()
        if error is not None:
            on_failure()
            if wanted:
                future.set_exception(error)
            return
        result = finish(*brought)
        if wanted:
            future.set_result(result)

    number = expect(done)
    try:
        call(name, *arguments, callback, number)
    except Exception:
        forget(number)
        on_failure()
        raise
    # An interrupt (KeyboardInterrupt is no Exception) may come when the call is under way already: what it brings later
    # goes to a future that nobody has, and is given back with it.
