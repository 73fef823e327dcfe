"""Users, roles, limits and who is behind sessions, for asyncio."""

from typing import Any, Callable, Iterable, List, Optional

from .. import _library as lib
from .. import client
from ..access import AccessAction, AccessGrant, AccessReport, AccessSubject
from ..limits import Denial, Limit, LimitsAction, LimitsReport
from ..types import SessionOrigin


class Access:
    """Arguments and answers are those of the methods of gcoord.Client of the same names."""

    async def _ask(self, method: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        raise NotImplementedError

    async def access(self, subject: AccessSubject = AccessSubject.STATUS, *, name: str = "", after: str = "",
                     limit: int = 1000, node_id: int = 0) -> AccessReport:
        """Whether rights are checked, and users or roles. GC6501, GC6503, GC6517, GC4005."""
        report: AccessReport = await self._ask(client.Client.access_async, subject, name=name, after=after, limit=limit,
                                               node_id=node_id)
        return report

    async def change_access(self, action: AccessAction, name: str = "", *, password: Optional[lib.Secret] = None,
                            roles: Iterable[str] = (), grants: Iterable[AccessGrant] = (), epoch: int = 0,
                            dry_run: bool = False, who: str = "") -> AccessReport:
        """Changes users, roles, or whether rights are checked, in one entry of the ledger. A cancelled await does not take
        back what was sent. GC6501 to GC6516, GC6518."""
        report: AccessReport = await self._ask(client.Client.change_access_async, action, name, password=password,
                                               roles=roles, grants=grants, epoch=epoch, dry_run=dry_run, who=who)
        return report

    async def limits(self, *, denials: bool = False, after_scope: int = 0, after_name: str = "",
                     node_id: int = 0) -> LimitsReport:
        """Limits, or who is denied. GC6588, GC4005."""
        report: LimitsReport = await self._ask(client.Client.limits_async, denials=denials, after_scope=after_scope,
                                               after_name=after_name, node_id=node_id)
        return report

    async def change_limits(self, action: LimitsAction, *, limit: Optional[Limit] = None,
                            denial: Optional[Denial] = None, duration: float = 0.0, epoch: int = 0,
                            dry_run: bool = False, who: str = "") -> LimitsReport:
        """Changes them, in one entry of the ledger. A cancelled await does not take back what was sent. GC6583 to GC6587,
        GC6591 to GC6593."""
        report: LimitsReport = await self._ask(client.Client.change_limits_async, action, limit=limit, denial=denial,
                                               duration=duration, epoch=epoch, dry_run=dry_run, who=who)
        return report

    async def session_origins(self, session_ids: Iterable[int]) -> List[SessionOrigin]:
        """Who is behind sessions, at most 1000 of them."""
        origins: List[SessionOrigin] = await self._ask(client.Client.session_origins_async, session_ids)
        return origins

    async def holder_origins(self, name: str) -> List[SessionOrigin]:
        """Who is behind the holders of a name, and behind those who wait for it."""
        origins: List[SessionOrigin] = await self._ask(client.Client.holder_origins_async, name)
        return origins
