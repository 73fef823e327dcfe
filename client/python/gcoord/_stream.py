"""Streams of the C library as iterators that end with close(), or with their client."""

from types import TracebackType
from typing import Any, Generic, Iterator, Optional, Type, TypeVar

from . import _library as lib
from ._handle import Handle
from .errors import GcoordError

T = TypeVar("T")
S = TypeVar("S", bound="Stream[Any]")


class Stream(Generic[T]):
    """What comes, one after the other. A kind names the functions of the library, and says how to ask for the next."""

    _free_function = ""
    _close_function = ""

    def __init__(self, client: object, handle: int, of: str) -> None:
        self._client = client  # Lives at least as long as its stream.
        self._closed = False
        self._of = of  # What repr() says that it follows.
        self._handle = Handle(handle, self._free_function)

    def __repr__(self) -> str:
        return f"<gcoord.{type(self).__name__} of {self._of} {'closed' if self._closed else 'open'}>"

    def next(self, timeout: Optional[float] = None) -> Optional[T]:
        """The next one; None when there is none in time. Without a timeout it waits until there is one."""
        raise NotImplementedError

    def close(self) -> None:
        """A next() that waits raises GC6207; an iteration ends, as it does with the client. From any thread."""
        self._closed = True
        getattr(lib.library(), self._close_function)(self._handle.pointer())

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            came = self.next()
        except GcoordError as reason:
            if self._closed or reason.number == lib.CLIENT_CLOSED:
                raise StopIteration from None
            raise
        assert came is not None
        return came

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
