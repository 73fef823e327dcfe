"""Handles of the C library as objects: made once, freed once, by whoever comes first."""

import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Callable, Optional, Protocol, Type, TypeVar

from . import _library as lib
from ._library import call, library

T = TypeVar("T")


class Closed(ValueError):
    """A call of an object that was closed before."""


class Handle:
    """Owns one handle. `free` is the function of its kind; it does what the C++ destructor does."""

    def __init__(self, handle: int, free: str) -> None:
        self._handle: Optional[int] = handle
        self._ended = False
        self._free = getattr(library(), free)  # Kept: at the interpreter's end modules go before objects.
        self._lock = threading.Lock()

    def pointer(self) -> int:
        handle = self._handle
        if handle is None or self._ended:
            raise Closed("this object was closed")
        return handle

    @property
    def closed(self) -> bool:
        return self._handle is None or self._ended

    def end(self, function: str) -> None:
        """Ends what the handle stands for, by a function that may run while others use it. The handle is freed with this
        object, which whoever is within a call has."""
        if self._handle is not None:
            call(function, self._handle)
            self._ended = True

    def free(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            self._free(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.free()


class Owner(Protocol):
    """A client, or what else ends what it has made."""

    _handle: Handle


class Held:
    """What is held until it is given back: by the end of its `with` block, or without waiting for the answer when nobody
    has the object any more. A kind names the functions of the library for that."""

    _free_function = ""
    _give_back_function = ""  # Waits for the answer, and raises what it says.
    _detach_function = ""

    def __init__(self, handle: int, owner: Optional[Owner] = None) -> None:
        """owner: whose end gives it back, unless it is detached."""
        self._handle = Handle(handle, self._free_function)
        self._owner = owner
        self._detached = False

    def __repr__(self) -> str:
        what = "closed" if self._handle.closed else self._described()
        return f"<gcoord.{type(self).__name__} {what}>"

    def _described(self) -> str:
        """What repr() shows of it while its handle is there. Asks no node."""
        return "open"

    def detach(self) -> None:
        """Gives nothing back: it lives on with its session, and a session or a lease for the rest of its TTL."""
        getattr(library(), self._detach_function)(self._handle.pointer())
        self._detached = True

    def _over(self) -> bool:
        """Whether its owner has given it back by its own end."""
        return self._owner is not None and self._owner._handle.closed and not self._detached

    def _give_back(self) -> None:
        if not self._over():
            call(self._give_back_function, self._handle.pointer())

    def _give_back_async(self) -> "Future[None]":
        if self._over():
            done: "Future[None]" = Future()
            done.set_result(None)
            return done
        return lib.start_done(self._give_back_function + "_async", self, self._handle.pointer())

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None:
            self._give_back()
        else:
            self._handle.free()  # Gives it back too; the error of the block is the one to hear of.


def wait_for(future: "Future[T]", abandon: Callable[[T], Any]) -> T:
    """The future's result. If the wait is broken off (Ctrl-C), it is cancelled, which ends it at the nodes; what was there
    before is given to `abandon`."""
    try:
        return future.result()
    except BaseException:
        # Its own failure is over; anything else broke the wait.
        if not future.cancel() and future.exception() is None:
            future.add_done_callback(lambda late: None if late.exception() else abandon(late.result()))
        raise
