"""Leases: one name in a session of its own."""

from concurrent.futures import Future
from ctypes import byref
from typing import Optional, Sequence

from . import _library as lib
from ._handle import Held, Owner
from ._session_library import Eventful, Listeners, options_of
from .types import HealthCheck, UnhealthyAction


class Lease(Held, Eventful):
    """Made by Client.take_lease. Leaving its `with` block gives it back."""

    _free_function = "gcoord_lease_free"
    _give_back_function = "gcoord_lease_release"
    _detach_function = "gcoord_lease_detach"
    _event_fd_function = "gcoord_lease_event_fd"
    _next_event_function = "gcoord_lease_next_event"

    def __init__(self, client: Owner, handle: int, event: int) -> None:
        super().__init__(handle, client)  # Which lives at least as long as what it serves.
        self._event = event

    def _described(self) -> str:
        return f"{self.name!r} fence={self.fence} {'valid' if self.valid else 'not valid'}"

    @property
    def name(self) -> str:
        return lib.words("gcoord_lease_name", self._handle.pointer())

    @property
    def fence(self) -> int:
        return lib.number("gcoord_lease_fence", self._handle.pointer())

    @property
    def session_id(self) -> int:
        return lib.number("gcoord_lease_session_id", self._handle.pointer())

    @property
    def valid(self) -> bool:
        """Whether nobody else can hold it now."""
        return lib.truth("gcoord_lease_valid", self._handle.pointer())

    @property
    def remaining(self) -> float:
        return lib.number("gcoord_lease_remaining_ms", self._handle.pointer()) / 1000

    @property
    def certain_until_ns(self) -> int:
        """A moment of Client.now_ns(); 0 when it is lost."""
        return lib.number("gcoord_lease_certain_until_ns", self._handle.pointer())

    def renew(self) -> None:
        lib.call("gcoord_lease_renew", self._handle.pointer())

    def renew_async(self) -> "Future[None]":
        return lib.start_done("gcoord_lease_renew_async", self, self._handle.pointer())

    def release(self) -> None:
        self._give_back()

    def release_async(self) -> "Future[None]":
        return self._give_back_async()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._handle.free()
            lib.forget(self._event)


def take_async(client: Owner, pointer: int, name: bytes, ttl: float, wait: Optional[float], listeners: Listeners,
               checks: Sequence[HealthCheck], on_unhealthy: UnhealthyAction) -> "Future[Lease]":
    event = lib.expect(listeners)
    future: "Future[Lease]" = Future()
    try:
        options = options_of(ttl, 0, event, listeners, checks, on_unhealthy)
        stop = lib.Stop()
        lib.start("gcoord_lease_take_stoppable_async", future, lambda handle: Lease(client, handle, event),
                  (pointer, name, byref(options), lib.wait_of(wait), stop.pointer), lib.on_handle,
                  lambda: lib.forget(event))
        stop.follow(future)
    except BaseException:
        lib.forget(event)
        raise
    return future
