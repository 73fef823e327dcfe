"""Handles of the C library as objects: made once, freed once, by whoever comes first."""

import threading
from concurrent.futures import Future
from typing import Any, Callable, Optional, TypeVar

from ._library import library

T = TypeVar("T")


class Handle:
    """Owns one handle. `free` is the function of its kind; it does what the C++ destructor does."""

    def __init__(self, handle: int, free: str) -> None:
        self._handle: Optional[int] = handle
        self._free = free
        self._lock = threading.Lock()

    def pointer(self) -> int:
        if self._handle is None:
            raise ValueError("this object was closed")
        return self._handle

    def free(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            getattr(library(), self._free)(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.free()


def wait_for(future: "Future[T]", abandon: Callable[[T], Any]) -> T:
    """The future's result. If the wait is broken off (Ctrl-C), what comes afterwards is given to `abandon`, on the
    client's thread."""
    try:
        return future.result()
    except BaseException:
        # Its own failure is over; anything else broke the wait.
        if not future.done() or future.exception() is None:
            future.add_done_callback(lambda late: None if late.exception() else abandon(late.result()))
        raise
