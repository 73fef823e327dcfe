"""Rendezvous: processes gather until a round of them is complete, as elastic training needs it."""

import ctypes
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Tuple

from . import _library as lib
from ._handle import Handle
from .group import made


class OptionFields(lib.Fields):
    _fields_ = [("members_min", c_uint32), ("members_max", c_uint32), ("last_call_ms", c_int64), ("timeout_ms", c_int64),
                ("payload", c_char_p), ("payload_bytes", c_size_t)]


class MemberFields(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("payload", c_void_p), ("payload_bytes", c_size_t)]


class StateFields(ctypes.Structure):
    _fields_ = [("version", c_uint64), ("round", c_uint64), ("alive", c_uint64), ("size", c_uint32), ("present", c_uint32),
                ("waiting", c_uint32), ("members_min", c_uint32), ("members_max", c_uint32), ("last_call", c_bool)]


_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)
_StateCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(StateFields), _ERROR)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_rendezvous_make": (_HANDLE, [_HANDLE, c_char_p, _ERROR]),
    "gcoord_rendezvous_free": (None, [_HANDLE]),
    "gcoord_rendezvous_join": (_HANDLE, [_HANDLE, POINTER(OptionFields), _ERROR]),
    "gcoord_rendezvous_join_async": (c_int32, [_HANDLE, POINTER(OptionFields), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_rendezvous_leave": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_rendezvous_leave_async": (c_int32, [_HANDLE, lib.DoneCallback, c_void_p, _ERROR]),
    "gcoord_rendezvous_round_free": (None, [_HANDLE]),
    "gcoord_rendezvous_round_number": (c_uint64, [_HANDLE]),
    "gcoord_rendezvous_round_rank": (c_uint32, [_HANDLE]),
    "gcoord_rendezvous_round_size": (c_size_t, [_HANDLE]),
    "gcoord_rendezvous_round_member": (MemberFields, [_HANDLE, c_size_t]),
    "gcoord_rendezvous_states_open": (_HANDLE, [_HANDLE, c_char_p, _ERROR]),
    "gcoord_rendezvous_states_free": (None, [_HANDLE]),
    "gcoord_rendezvous_states_after": (c_int32, [_HANDLE, c_uint64, c_int64, POINTER(StateFields), _ERROR]),
    "gcoord_rendezvous_states_after_async": (
        c_int32, [_HANDLE, c_uint64, c_int64, _StateCallback, c_void_p, _ERROR]),
})


@dataclass(frozen=True)
class RendezvousMember:
    """A member of a round, whose rank is its index there."""

    session_id: int
    payload: bytes


@dataclass(frozen=True)
class RendezvousRound:
    """A complete round: its number, the rank of the session that joined, and the members by rank."""

    round: int
    rank: int
    members: Tuple[RendezvousMember, ...]

    @property
    def world_size(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class RendezvousState:
    """A rendezvous as it is now. version: another one after each change. alive: ranks below 64 of the members of the last
    round (0: there is none) that are in it still; present of size are. waiting: sessions that wait for the next one."""

    version: int
    round: int
    alive: Tuple[int, ...]
    size: int
    present: int
    waiting: int
    members_min: int
    members_max: int
    last_call: bool


@_StateCallback
def _on_state(number, state, error):  # type: ignore[no-untyped-def]
    lib._once(number, state, lib._reason(error))


def _member(pointer: int, rank: int) -> RendezvousMember:
    fields: Any = lib.library().gcoord_rendezvous_round_member(pointer, rank)
    return RendezvousMember(fields.session_id, ctypes.string_at(fields.payload, fields.payload_bytes))


def _round(pointer: int) -> RendezvousRound:
    try:
        count = lib.number("gcoord_rendezvous_round_size", pointer)
        return RendezvousRound(lib.number("gcoord_rendezvous_round_number", pointer),
                               lib.number("gcoord_rendezvous_round_rank", pointer),
                               tuple(_member(pointer, rank) for rank in range(count)))
    finally:
        lib.library().gcoord_rendezvous_round_free(pointer)


def _state(fields: Any) -> RendezvousState:
    alive = tuple(rank for rank in range(64) if fields.alive >> rank & 1)
    return RendezvousState(fields.version, fields.round, alive, fields.size, fields.present, fields.waiting,
                           fields.members_min, fields.members_max, fields.last_call)


class Rendezvous:
    """One session's part in a rendezvous. Made by Session.rendezvous. Being in a round ends when the session joins again,
    with leave() or with the session, not with this object."""

    def __init__(self, session: object, session_pointer: int, name: str) -> None:
        self._session = session  # Lives at least as long.
        self._handle = Handle(made("gcoord_rendezvous_make", session_pointer, lib.text(name)), "gcoord_rendezvous_free")

    def join(self, members_min: int, members_max: int, *, last_call: float = 30, timeout: float = 600,
             payload: bytes = b"") -> RendezvousRound:
        """Waits for a round of this session. It is complete with members_max, or last_call seconds after members_min have
        come. All who wait give the same numbers (GC6414). GC6415 when the timeout passed before."""
        options = self._options(members_min, members_max, last_call, timeout, payload)
        return _round(made("gcoord_rendezvous_join", self._handle.pointer(), byref(options)))

    def join_async(self, members_min: int, members_max: int, *, last_call: float = 30, timeout: float = 600,
                   payload: bytes = b"") -> "Future[RendezvousRound]":
        """A future that is cancelled takes nothing back: leave() does, or the timeout."""
        options = self._options(members_min, members_max, last_call, timeout, payload)
        future: "Future[RendezvousRound]" = Future()
        lib.start("gcoord_rendezvous_join_async", future, lambda came, _=self: _round(came),
                  (self._handle.pointer(), byref(options)), lib.on_handle)
        return future

    def leave(self) -> None:
        """Waits no more, and is out of the last round; GC6417 when it was in neither."""
        lib.call("gcoord_rendezvous_leave", self._handle.pointer())

    def leave_async(self) -> "Future[None]":
        return lib.start_done("gcoord_rendezvous_leave_async", self, self._handle.pointer())

    @staticmethod
    def _options(members_min: int, members_max: int, last_call: float, timeout: float, payload: bytes) -> OptionFields:
        said = lib.octets(payload)
        return OptionFields(members_min, members_max, lib.milliseconds(last_call), lib.milliseconds(timeout), said,
                            len(said))


class RendezvousStates:
    """Who is in the last round of a rendezvous, and who waits. Made by Client.rendezvous_states. Takes no part in it."""

    def __init__(self, client: object, client_pointer: int, name: str) -> None:
        self._client = client  # Lives at least as long.
        self._handle = Handle(made("gcoord_rendezvous_states_open", client_pointer, lib.text(name)),
                              "gcoord_rendezvous_states_free")

    def now(self) -> RendezvousState:
        return self.after(0, 0)

    def now_async(self) -> "Future[RendezvousState]":
        return self.after_async(0, 0)

    def after(self, version: int, wait: float) -> RendezvousState:
        """The state when it has another version than this; as it is when it has not changed in so many seconds."""
        state = StateFields()
        lib.call("gcoord_rendezvous_states_after", self._handle.pointer(), version, lib.milliseconds(wait), byref(state))
        return _state(state)

    def after_async(self, version: int, wait: float) -> "Future[RendezvousState]":
        future: "Future[RendezvousState]" = Future()
        lib.start("gcoord_rendezvous_states_after_async", future, lambda state, _=self: _state(state.contents),
                  (self._handle.pointer(), version, lib.milliseconds(wait)), _on_state)
        return future
