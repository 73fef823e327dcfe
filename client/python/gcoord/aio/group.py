"""Groups, for asyncio."""

from typing import Optional

from .. import group
from ..errors import GcoordError
from ._bridge import Bridge


class Group:
    """One session's part in a group. Made by Session.group. Being a member ends with leave() or with the session."""

    def __init__(self, bridge: Bridge, made: group.Group) -> None:
        self._bridge = bridge
        self._group = made

    async def join(self, id: str, payload: bytes = b"") -> group.GroupMembership:
        """Becomes a member, exactly once. GC6402 when another session is a member under this id."""
        self._bridge.check_loop()
        return await self._bridge.outcome(self._group.join_async(id, payload))

    async def leave(self) -> None:
        self._bridge.check_loop()
        await self._bridge.outcome(self._group.leave_async())

    async def update(self, payload: bytes) -> None:
        """Other bytes for this member, which make a new view."""
        self._bridge.check_loop()
        await self._bridge.outcome(self._group.update_async(payload))

    async def barrier(self, size: int, timeout: float = 30) -> None:
        """Waits until so many sessions have arrived. GC6407 says who was missing when the seconds have passed. A cancelled
        wait takes the arrival not back: it stands until then."""
        self._bridge.check_loop()
        await self._bridge.outcome(self._group.barrier_async(size, timeout))


class GroupViews:
    """The views of a group, each once and in order, also for `async for`. Made by Client.group_views."""

    def __init__(self, bridge: Bridge, made: group.GroupViews) -> None:
        self._bridge = bridge
        self._views = made

    async def now(self) -> group.GroupView:
        """The view of now, whatever next() has shown."""
        self._bridge.check_loop()
        return await self._bridge.outcome(self._views.now_async())

    async def next(self, wait: float) -> Optional[group.GroupView]:
        """The next view, the first time that of now; None when there is none within so many seconds. One task at a time;
        cancelled, it may leave out a view that was on its way."""
        self._bridge.check_loop()
        try:
            view: group.GroupView = await self._bridge.outcome(self._views.next_async(wait))
            return view
        except GcoordError as why:
            if why.number == group._DEADLINE_EXCEEDED:
                return None
            raise

    def __aiter__(self) -> "GroupViews":
        return self

    async def __anext__(self) -> group.GroupView:
        while True:
            view = await self.next(3600)
            if view is not None:
                return view
