"""Many locks of one session in one call, each with a result of its own (gcoord/lock_batch.h)."""

from concurrent.futures import Future
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from ctypes import CFUNCTYPE
from typing import Any, Dict, List, Mapping, Optional

from . import _library as lib
from ._handle import Held
from .errors import GcoordError, make_error
from .multi_lock import AcquireFields


class OutcomeFields(Structure):
    _fields_ = [("status", c_int32), ("number", c_uint32)]


OutcomesCallback = CFUNCTYPE(None, c_void_p, POINTER(OutcomeFields), c_size_t, POINTER(lib.Error))

_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_lock_acquire_many_async": (
        c_int32, [_HANDLE, POINTER(c_char_p), c_size_t, POINTER(AcquireFields), _HANDLE, lib.HandleCallback, c_void_p,
                  _ERROR]),
    "gcoord_lock_batch_free": (None, [_HANDLE]),
    "gcoord_lock_batch_size": (c_size_t, [_HANDLE]),
    "gcoord_lock_batch_name": (c_char_p, [_HANDLE, c_size_t]),
    "gcoord_lock_batch_fence": (c_uint64, [_HANDLE, c_size_t]),
    "gcoord_lock_batch_already_held": (c_bool, [_HANDLE, c_size_t]),
    "gcoord_lock_batch_valid": (c_bool, [_HANDLE, c_size_t]),
    "gcoord_lock_batch_outcome": (c_int32, [_HANDLE, c_size_t, _ERROR]),
    "gcoord_lock_batch_release": (c_int32, [_HANDLE, _ERROR]),
    "gcoord_lock_batch_release_async": (c_int32, [_HANDLE, lib.DoneCallback, c_void_p, _ERROR]),
    "gcoord_lock_batch_detach": (None, [_HANDLE]),
    "gcoord_session_release_many_async": (
        c_int32, [_HANDLE, POINTER(c_char_p), POINTER(c_uint64), c_size_t, OutcomesCallback, c_void_p, _ERROR]),
    "gcoord_session_renew_until": (c_int32, [_HANDLE, POINTER(c_int64), _ERROR]),
})


class LockBatch(Held):
    """What came of Session.acquire_many: the locks that were granted, and why others were not. Leaving its `with` block
    releases the locks; so does losing the object, without waiting for the answers."""

    _free_function = "gcoord_lock_batch_free"
    _give_back_function = "gcoord_lock_batch_release"
    _detach_function = "gcoord_lock_batch_detach"

    def __init__(self, session: object, handle: int) -> None:
        super().__init__(handle)
        self._session = session  # Lives at least as long as its locks, or they would end with it.
        self._names = [lib.said(lib.library().gcoord_lock_batch_name(handle, k))
                       for k in range(lib.number("gcoord_lock_batch_size", handle))]

    def _described(self) -> str:
        return f"{len(self.fences)} of {len(self._names)} held"

    @property
    def names(self) -> List[str]:
        """All names of the call, in its order."""
        return list(self._names)

    @property
    def fences(self) -> Dict[str, int]:
        """The fencing token of each name that was granted and not released, in the order of the names."""
        pointer = self._handle.pointer()
        tokens = {name: lib.number("gcoord_lock_batch_fence", pointer, k) for k, name in enumerate(self._names)}
        return {name: token for name, token in tokens.items() if token != 0}

    @property
    def failures(self) -> Dict[str, GcoordError]:
        """Why each of the other names was not granted: LockBusy, WaitTimedOut and so on."""
        failures: Dict[str, GcoordError] = {}
        for k, name in enumerate(self._names):
            error = lib.Error()
            if lib.number("gcoord_lock_batch_outcome", self._handle.pointer(), k, byref(error)) != 0:
                failures[name] = error.exception()
        return failures

    def fence(self, name: str) -> Optional[int]:
        """The fencing token of a name; None for one that is not held."""
        return self.fences.get(name)

    def valid(self, name: str) -> bool:
        """Whether this name is held, by the client's clock. Asks no node."""
        return name in self._names and lib.truth("gcoord_lock_batch_valid", self._handle.pointer(), self._names.index(name))

    def already_held(self, name: str) -> bool:
        """Whether the session held it before."""
        return name in self._names and lib.truth("gcoord_lock_batch_already_held", self._handle.pointer(),
                                                 self._names.index(name))

    def release(self) -> None:
        """Releases the locks in few frames; raises the first failure, when all have been released."""
        self._give_back()

    def release_async(self) -> "Future[None]":
        """The object holds nothing any more from the call on."""
        return self._give_back_async()


@OutcomesCallback
def on_outcomes(number, outcomes, count, error):  # type: ignore[no-untyped-def]
    told = [(outcomes[k].status, outcomes[k].number) for k in range(count)] if not error else []
    lib._once(number, told, lib._reason(error))


def release_many_async(session: Any, holds: Mapping[str, int]) -> "Future[Dict[str, Optional[GcoordError]]]":
    """Of Session.release_many."""
    names, tokens = list(holds), list(holds.values())
    for token in tokens:
        lib.check_fits(c_uint64, token)
    asked = [lib.text(name) for name in names]
    future: "Future[Dict[str, Optional[GcoordError]]]" = Future()

    def finish(told: Any, _: Any = session) -> Dict[str, Optional[GcoordError]]:
        return {name: None if status == 0 else make_error(status, number, f"the lock {name!r} was not released (GC{number})")
                for name, (status, number) in zip(names, told)}

    lib.start("gcoord_session_release_many_async", future, finish,
              (session._handle.pointer(), (c_char_p * len(asked))(*asked), (c_uint64 * len(tokens))(*tokens), len(asked)),
              on_outcomes)
    return future
