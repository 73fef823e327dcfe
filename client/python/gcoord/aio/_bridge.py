"""The way from the client's threads into one event loop."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, Deque, Dict, Optional, TypeVar

from .._handle import Closed
from .._library import client_closed

T = TypeVar("T")

_THREADS_MAX = 16  # Of one client, for calls that the C interface has only in a blocking form.


def _settle(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class Bridge:
    """Belongs to one client and the loop in which it was connected. post() is for any thread, all else for the loop's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: Deque[Callable[[], None]] = deque()
        self._woken = False
        self._reading: Dict[int, "asyncio.Future[None]"] = {}
        self._threads = asyncio.Semaphore(_THREADS_MAX)
        self.closed = False

    def post(self, callback: Callable[[], None]) -> None:
        """Runs callback() in the loop. However many come at once, the loop is woken once for all of them."""
        self._due.append(callback)
        if self._woken:
            return  # _drain() has not begun: it takes this one too.
        self._woken = True
        try:
            self._loop.call_soon_threadsafe(self._drain)
        except RuntimeError:  # The loop is closed: nobody waits in it.
            self._due.clear()
            self._woken = False

    def _drain(self) -> None:
        self._woken = False  # Before the first is taken: whoever adds one from here on wakes the loop again.
        for _ in range(len(self._due)):
            callback = self._due.popleft()
            try:
                callback()
            except Exception as error:  # A user's; what came behind it has its turn all the same.
                self._loop.call_exception_handler({"message": "a callback of gcoord.aio failed", "exception": error})

    def check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("this object belongs to another event loop. Connect a client in each loop")

    async def outcome(self, future: "Future[T]", abandon: Optional[Callable[[T], Any]] = None) -> T:
        """The future's result. When the await is cancelled the future is cancelled, which withdraws the request; what had
        come by then is given to abandon()."""
        waiter = self._loop.create_future()
        future.add_done_callback(lambda _: self.post(lambda: _settle(waiter)))
        try:
            await waiter
        except BaseException:  # GeneratorExit too: the loop ended before the wait.
            if not future.cancel() and abandon is not None:
                give_back = abandon
                future.add_done_callback(lambda late: None if late.exception() else give_back(late.result()))
            raise
        return future.result()

    async def in_thread(self, function: Callable[[], T], abandon: Optional[Callable[[T], Any]] = None) -> T:
        """The result of a function that blocks. A cancelled await ends at once. The function goes on to its own end, counted
        as one of the threads until then, and abandon() gets what it brings."""
        await self._threads.acquire()
        try:
            if self.closed:
                raise client_closed()
            future = self._start(function)
        except BaseException:
            self._threads.release()
            raise
        future.add_done_callback(lambda _: self.post(self._threads.release))
        return await self.outcome(future, abandon)

    async def in_own_thread(self, function: Callable[[], T], abandon: Optional[Callable[[T], Any]] = None) -> T:
        """The same, however many are under way: for what must not wait for others."""
        return await self.outcome(self._start(function), abandon)

    def _start(self, function: Callable[[], T]) -> "Future[T]":
        future: "Future[T]" = Future()
        future.set_running_or_notify_cancel()  # It cannot be taken back.

        def work() -> None:
            try:
                result = function()
            except Closed as error:  # The client's end came before the call.
                future.set_exception(client_closed() if self.closed else error)
            except BaseException as error:  # Whatever it is, the waiting task gets it.
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=work, name="gcoord-aio", daemon=True).start()
        return future

    async def readable(self, descriptor: int) -> None:
        """Returns when the descriptor is readable, or after wake()."""
        if descriptor in self._reading:
            raise RuntimeError("another task waits for the next one already. Iterate in one task at a time")
        waiter = self._reading[descriptor] = self._loop.create_future()
        self._loop.add_reader(descriptor, _settle, waiter)
        try:
            await waiter
        finally:
            self._loop.remove_reader(descriptor)
            del self._reading[descriptor]

    def wake(self, descriptor: int) -> None:
        waiter = self._reading.get(descriptor)
        if waiter is not None:
            _settle(waiter)

    def close(self) -> None:
        """Nobody waits for a descriptor any more, whose owner ends now."""
        self.closed = True
        for waiter in self._reading.values():
            _settle(waiter)
