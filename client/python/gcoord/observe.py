"""Who leads in an election, one after the other."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Optional

from . import _library as lib
from ._stream import Stream
from .types import Office


class _Office(ctypes.Structure):
    _fields_ = [("session_id", c_uint64), ("epoch", c_uint64), ("value", c_void_p), ("value_bytes", c_size_t)]


# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_observe": (c_int32, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(lib.Error)]),
    "gcoord_leader_stream_next": (c_int32, [c_void_p, c_int64, POINTER(_Office), POINTER(lib.Error)]),
    "gcoord_leader_stream_close": (None, [c_void_p]),
    "gcoord_leader_stream_free": (None, [c_void_p]),
})


class LeaderStream(Stream[Office]):
    """Leaders as they come, the present one first; never the same epoch twice, never an earlier one. An iterator that
    ends with close(). Made by Client.observe; leaving its `with` block ends it."""

    _free_function = "gcoord_leader_stream_free"
    _close_function = "gcoord_leader_stream_close"

    def __init__(self, client: object, pointer: int, name: str) -> None:
        handle = c_void_p()
        lib.call("gcoord_observe", pointer, lib.text(name), byref(handle))
        super().__init__(client, handle.value or 0, repr(name))

    def next(self, timeout: Optional[float] = None) -> Optional[Office]:
        """The next leader; None when there is none in time. Without a timeout it waits until there is one."""
        told = _Office()
        lib.call("gcoord_leader_stream_next", self._handle.pointer(), lib.wait_of(timeout), byref(told))
        if told.session_id == 0:
            return None
        value = ctypes.string_at(told.value, told.value_bytes) if told.value_bytes else b""
        return Office(told.session_id, told.epoch, value)
