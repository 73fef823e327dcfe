"""Groups: processes that agree on who of them is there, and wait for each other at barriers."""

import ctypes
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from . import _library as lib
from ._handle import Handle
from .errors import GcoordError


class MembershipFields(ctypes.Structure):
    _fields_ = [("id", c_char_p), ("payload", c_char_p), ("payload_bytes", c_size_t), ("epoch", c_uint64),
                ("rank", c_uint32)]


class BarrierFields(lib.Fields):
    _fields_ = [("size", c_uint32), ("timeout_ms", c_int64)]


class MemberFields(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("id", c_char_p), ("payload", c_void_p), ("payload_bytes", c_size_t)]


_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)
_JoinedCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(MembershipFields), _ERROR)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_group_make": (_HANDLE, [_HANDLE, c_char_p, _ERROR]),
    "gcoord_group_free": (None, [_HANDLE]),
    "gcoord_group_join": (c_int32, [_HANDLE, POINTER(MembershipFields), _ERROR]),
    "gcoord_group_leave": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_group_update": (c_int32, [_HANDLE, POINTER(MembershipFields), _ERROR]),
    "gcoord_group_barrier": (c_int32, [_HANDLE, POINTER(BarrierFields), _ERROR]),
    "gcoord_group_join_async": (c_int32, [_HANDLE, POINTER(MembershipFields), _JoinedCallback, c_void_p, _ERROR]),
    "gcoord_group_leave_async": (c_int32, [_HANDLE, lib.DoneCallback, c_void_p, _ERROR]),
    "gcoord_group_update_async": (c_int32, [_HANDLE, POINTER(MembershipFields), lib.DoneCallback, c_void_p, _ERROR]),
    "gcoord_group_barrier_async": (c_int32, [_HANDLE, POINTER(BarrierFields), lib.DoneCallback, c_void_p, _ERROR]),
    "gcoord_group_views_now_async": (c_int32, [_HANDLE, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_group_views_next_async": (c_int32, [_HANDLE, c_int64, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_group_views_open": (_HANDLE, [_HANDLE, c_char_p, _ERROR]),
    "gcoord_group_views_free": (None, [_HANDLE]),
    "gcoord_group_views_now": (_HANDLE, [_HANDLE, _ERROR]),
    "gcoord_group_views_next": (_HANDLE, [_HANDLE, c_int64, _ERROR]),
    "gcoord_group_view_free": (None, [_HANDLE]),
    "gcoord_group_view_epoch": (c_uint64, [_HANDLE]),
    "gcoord_group_view_gap": (c_bool, [_HANDLE]),
    "gcoord_group_view_size": (c_size_t, [_HANDLE]),
    "gcoord_group_view_member": (MemberFields, [_HANDLE, c_size_t]),
})

_DEADLINE_EXCEEDED = 4009


@_JoinedCallback
def _on_joined(number, member, error):  # type: ignore[no-untyped-def]
    lib._once(number, member, lib._reason(error))


@dataclass(frozen=True)
class GroupMember:
    """A member of a view, whose rank is its index there."""

    session_id: int
    id: str
    payload: bytes


@dataclass(frozen=True)
class GroupView:
    """Members by rank. gap: views may be missing before this one."""

    epoch: int
    members: Tuple[GroupMember, ...]
    gap: bool


@dataclass(frozen=True)
class GroupMembership:
    """The first view that a member is part of, and its rank in that view."""

    epoch: int
    rank: int


def _membership(member: Any) -> GroupMembership:
    return GroupMembership(member.contents.epoch, member.contents.rank)


def made(name: str, *arguments: Any) -> int:
    """The handle that a function returns; raises what it says when there is none."""
    error = lib.Error()
    handle: Optional[int] = getattr(lib.library(), name)(*arguments, byref(error))
    if not handle:
        raise error.exception()
    return handle


def _member(view: int, rank: int) -> GroupMember:
    fields: Any = lib.library().gcoord_group_view_member(view, rank)
    payload = ctypes.string_at(fields.payload, fields.payload_bytes)
    return GroupMember(fields.session_id, fields.id.decode("utf-8", "surrogateescape"), payload)


def _view(pointer: int) -> GroupView:
    try:
        count = lib.number("gcoord_group_view_size", pointer)
        return GroupView(lib.number("gcoord_group_view_epoch", pointer),
                         tuple(_member(pointer, rank) for rank in range(count)),
                         lib.truth("gcoord_group_view_gap", pointer))
    finally:
        lib.library().gcoord_group_view_free(pointer)


class Group:
    """One session's part in a group. Made by Session.group. Being a member ends with leave() or with the session, not with
    this object."""

    def __init__(self, session: object, session_pointer: int, name: str) -> None:
        self._session = session  # Lives at least as long.
        self._handle = Handle(made("gcoord_group_make", session_pointer, lib.text(name)), "gcoord_group_free")

    def join(self, id: str, payload: bytes = b"") -> GroupMembership:
        """Becomes a member, exactly once. GC6402 when another session is a member under this id."""
        said = lib.octets(payload)
        member = MembershipFields(lib.text(id, "id"), said, len(said))
        lib.call("gcoord_group_join", self._handle.pointer(), byref(member))
        return GroupMembership(member.epoch, member.rank)

    def join_async(self, id: str, payload: bytes = b"") -> "Future[GroupMembership]":
        said = lib.octets(payload)
        member = MembershipFields(lib.text(id, "id"), said, len(said))
        future: "Future[GroupMembership]" = Future()
        lib.start("gcoord_group_join_async", future, lambda joined, _=self: _membership(joined),
                  (self._handle.pointer(), byref(member)), _on_joined)
        return future

    def leave(self) -> None:
        lib.call("gcoord_group_leave", self._handle.pointer())

    def leave_async(self) -> "Future[None]":
        return lib.start_done("gcoord_group_leave_async", self, self._handle.pointer())

    def update(self, payload: bytes) -> None:
        """Other bytes for this member, which make a new view."""
        said = lib.octets(payload)
        member = MembershipFields(None, said, len(said))
        lib.call("gcoord_group_update", self._handle.pointer(), byref(member))

    def update_async(self, payload: bytes) -> "Future[None]":
        said = lib.octets(payload)
        member = MembershipFields(None, said, len(said))
        return lib.start_done("gcoord_group_update_async", self, self._handle.pointer(), byref(member))

    def barrier(self, size: int, timeout: float = 30) -> None:
        """Waits until so many sessions have arrived at the barrier of this name. GC6407 says who was missing when the
        seconds have passed; this arrival is taken back then."""
        options = BarrierFields(size, lib.milliseconds(timeout))
        lib.call("gcoord_group_barrier", self._handle.pointer(), byref(options))

    def barrier_async(self, size: int, timeout: float = 30) -> "Future[None]":
        """A future that is cancelled takes nothing back: the arrival stands until the timeout."""
        options = BarrierFields(size, lib.milliseconds(timeout))
        return lib.start_done("gcoord_group_barrier_async", self, self._handle.pointer(), byref(options))


class GroupViews:
    """The views of a group, each once and in order. Made by Client.group_views. Takes no part in the group."""

    def __init__(self, client: object, client_pointer: int, name: str) -> None:
        self._client = client  # Lives at least as long.
        self._handle = Handle(made("gcoord_group_views_open", client_pointer, lib.text(name)),
                              "gcoord_group_views_free")

    def now(self) -> GroupView:
        """The view of now, whatever next() has shown."""
        return _view(made("gcoord_group_views_now", self._handle.pointer()))

    def now_async(self) -> "Future[GroupView]":
        future: "Future[GroupView]" = Future()
        lib.start("gcoord_group_views_now_async", future, lambda view, _=self: _view(view), (self._handle.pointer(),),
                  lib.on_handle)
        return future

    def next(self, wait: float) -> Optional[GroupView]:
        """The next view, the first time that of now; None when there is none within so many seconds. One thread at a
        time."""
        try:
            return _view(made("gcoord_group_views_next", self._handle.pointer(), lib.milliseconds(wait)))
        except GcoordError as why:
            if why.number == _DEADLINE_EXCEEDED:
                return None
            raise

    def next_async(self, wait: float) -> "Future[GroupView]":
        """The same as a future, with GC4009 when there is no next view in time. One at a time."""
        future: "Future[GroupView]" = Future()
        lib.start("gcoord_group_views_next_async", future, lambda view, _=self: _view(view),
                  (self._handle.pointer(), lib.milliseconds(wait)), lib.on_handle)
        return future
