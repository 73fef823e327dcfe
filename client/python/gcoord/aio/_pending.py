"""What is on its way: a coroutine that `async with` takes too."""

from types import TracebackType
from typing import Any, Coroutine, Generator, Generic, Optional, Type, TypeVar


class Entered:
    """What `async with` gives back at its end. A kind says how: with the answer, or without waiting for it."""

    async def _give_back(self) -> None:
        raise NotImplementedError

    def _let_go(self) -> None:
        raise NotImplementedError

    async def _leave(self, kind: Optional[Type[BaseException]]) -> None:
        if kind is None:
            await self._give_back()
        else:
            self._let_go()  # The error of the block is the one to hear of.

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self._leave(kind)


E_co = TypeVar("E_co", bound=Entered, covariant=True)


class Pending(Coroutine[Any, Any, E_co], Generic[E_co]):
    """Awaited, it is the object itself, for the caller to give back; entered by `async with`, the block gives back. It is
    a coroutine, which tasks and gather() take."""

    def __init__(self, coming: Coroutine[Any, Any, E_co]) -> None:
        self._coming = coming
        self._entered: Optional[Entered] = None

    def __await__(self) -> Generator[Any, Any, E_co]:
        return self._coming.__await__()

    def send(self, value: Any) -> Any:
        return self._coming.send(value)

    def throw(self, *what: Any) -> Any:
        return self._coming.throw(*what)

    def close(self) -> None:
        self._coming.close()

    async def __aenter__(self) -> E_co:
        came = await self._coming
        self._entered = came
        return came

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        entered, self._entered = self._entered, None
        if entered is not None:
            await entered._leave(kind)
