"""Several locks of one session, all or none; and the options that every acquire takes."""

import ctypes
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Dict, Optional

from . import _library as lib
from ._handle import Held


class AcquireFields(lib.Fields):
    _fields_ = [
        ("struct_bytes", c_size_t), ("wait_ms", c_int64), ("note", c_char_p), ("note_bytes", c_size_t),
        ("holds_max", c_uint32), ("shared", c_bool), ("permits", c_uint32), ("permits_max", c_uint32),
        ("detect_deadlock", c_bool), ("downgrade", c_bool), ("priority", c_uint32), ("delay_ms", c_int64),
    ]


_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_acquire_options_init": (None, [POINTER(AcquireFields)]),
    "gcoord_lock_acquire_stoppable_async": (
        c_int32, [_HANDLE, c_char_p, POINTER(AcquireFields), _HANDLE, lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_lock_held_again": (c_bool, [_HANDLE]),
    "gcoord_lock_acquire_all_stoppable_async": (
        c_int32, [_HANDLE, POINTER(c_char_p), c_size_t, POINTER(AcquireFields), _HANDLE, lib.HandleCallback, c_void_p,
                  _ERROR]),
    "gcoord_multi_lock_free": (None, [_HANDLE]),
    "gcoord_multi_lock_release": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_multi_lock_detach": (None, [_HANDLE]),
    "gcoord_multi_lock_valid": (c_bool, [_HANDLE]),
    "gcoord_multi_lock_size": (c_size_t, [_HANDLE]),
    "gcoord_multi_lock_name": (c_char_p, [_HANDLE, c_size_t]),
    "gcoord_multi_lock_fence": (c_uint64, [_HANDLE, c_size_t]),
})


def acquire_fields(wait: Optional[float], *, note: bytes = b"", holds_max: int = 0, shared: bool = False,
                   permits: int = 1, permits_max: int = 0, detect_deadlock: bool = False, downgrade: bool = False,
                   priority: int = 0, delay: float = 0) -> AcquireFields:
    """The options of an acquire (gcoord/options.h, AcquireOptions), by their names there."""
    fields = AcquireFields()
    lib.library().gcoord_acquire_options_init(byref(fields))
    fields.wait_ms = lib.wait_of(wait)
    said = lib.octets(note)
    fields.note, fields.note_bytes = said, len(said)
    fields.holds_max, fields.shared, fields.permits, fields.permits_max = holds_max, shared, permits, permits_max
    fields.detect_deadlock, fields.downgrade, fields.priority = detect_deadlock, downgrade, priority
    fields.delay_ms = lib.milliseconds(delay)
    return fields


class MultiLock(Held):
    """Held locks, each with a token of its own. Leaving its `with` block releases all; so does losing the object, without
    waiting for the answers. Made by Session.acquire_all."""

    _free_function = "gcoord_multi_lock_free"
    _give_back_function = "gcoord_multi_lock_release"
    _detach_function = "gcoord_multi_lock_detach"

    def __init__(self, session: object, handle: int) -> None:
        super().__init__(handle)
        self._session = session  # Lives at least as long as its locks, or they would end with it.

    def _described(self) -> str:
        return f"{self.fences} {'valid' if self.valid else 'not valid'}"

    @property
    def fences(self) -> Dict[str, int]:
        """The fencing token of each name, in the order in which they were taken."""
        library, pointer = lib.library(), self._handle.pointer()
        return {library.gcoord_multi_lock_name(pointer, k).decode("utf-8", "surrogateescape"):
                library.gcoord_multi_lock_fence(pointer, k) for k in range(library.gcoord_multi_lock_size(pointer))}

    def fence(self, name: str) -> Optional[int]:
        """The fencing token of a name; None for a name that is not one of them."""
        return self.fences.get(name)

    @property
    def valid(self) -> bool:
        """Whether all of them are held."""
        return lib.truth("gcoord_multi_lock_valid", self._handle.pointer())

    def release(self) -> None:
        """Gives all of them back; raises the first failure, when all have been given back."""
        self._give_back()

    def release_async(self) -> "Future[None]":
        return self._give_back_async()
