"""The client for asyncio: one for a whole program with one event loop."""

from types import TracebackType
from typing import Callable, Iterable, Mapping, Optional, Sequence, Tuple, Type, Union

from .. import _library as lib
from .. import client, lease, session
from .. import observe as leaders
from .. import watch as watches
from ..access import Identity
from ..types import CheckReport, HealthCheck, Holder, SessionDescription, UnhealthyAction
from ._bridge import Bridge
from ._pending import Pending
from .access import Access
from .group import GroupViews
from .lease import Lease
from .looks import Looks
from .observe import LeaderStream
from .rendezvous import RendezvousStates
from .session import Session
from .watch import Watch

Reports = Optional[Callable[[CheckReport], None]]


def _forget_session(late: session.Session) -> None:
    late._handle.free()


def _forget_lease(late: lease.Lease) -> None:
    late._handle.free()


def _in_loop(bridge: Bridge, on_report: Reports) -> Reports:
    if on_report is None:
        return None
    told = on_report
    return lambda report: bridge.post(lambda: told(report))


class Client(Looks, Access):
    """Connections to all nodes. Entering its `async with` block connects, leaving it closes, also the sessions that are
    open. It belongs to the loop in which it was connected."""

    def __init__(self, endpoints: Union[str, Sequence[str]], *, connect_timeout: float = 3.0,
                 request_timeout: float = 5.0, drift_divisor: int = 100, drift_margin: float = 0.010,
                 cluster_id: int = 0, client_name: str = "gcoord-python", wait_for_cluster: bool = False,
                 backoff_min: float = 0.005, backoff_max: float = 0.5, retry_budget: int = 10_000,
                 breaker_failures: int = 10, fail_fast: bool = False, tls: bool = False,
                 cacert: Optional[str] = None, cert: Optional[str] = None, key: Optional[str] = None,
                 server_name: Optional[str] = None, user: Optional[str] = None,
                 password: Optional[lib.Secret] = None, token: Optional[lib.Secret] = None, token_file: Optional[str] = None,
                 insecure_credentials: bool = False,
                 clock: Optional[Callable[[], int]] = None) -> None:
        """Arguments are those of gcoord.Client. Nothing is asked before connect() or `async with`; a password or a token is
        kept until this object goes, and one that is a bytearray may be wiped after the last connect()."""
        self._endpoints = endpoints
        self._open: Optional[Tuple[client.Client, Bridge]] = None
        self._make = lambda: client.Client(
            endpoints, connect_timeout=connect_timeout, request_timeout=request_timeout, drift_divisor=drift_divisor,
            drift_margin=drift_margin, cluster_id=cluster_id, client_name=client_name, wait_for_cluster=wait_for_cluster,
            backoff_min=backoff_min, backoff_max=backoff_max, retry_budget=retry_budget,
            breaker_failures=breaker_failures, fail_fast=fail_fast, tls=tls, cacert=cacert, cert=cert,
            key=key, server_name=server_name, user=user, password=password, token=token, token_file=token_file,
            insecure_credentials=insecure_credentials, clock=clock)

    def __repr__(self) -> str:
        endpoints = self._endpoints if isinstance(self._endpoints, str) else ",".join(self._endpoints)
        return f"<gcoord.aio.Client {endpoints} {'connected' if self._open else 'not connected'}>"

    async def connect(self) -> "Client":
        """Returns itself when one node has answered; Unreachable when none did within connect_timeout."""
        if self._open is not None:
            raise RuntimeError("this client is connected already")
        bridge = Bridge()
        self._open = (await bridge.in_own_thread(self._make, client.Client.close), bridge)
        return self

    async def close(self) -> None:
        """Closes the open sessions and leases, unless they are detached, without waiting long for the answers. What is under
        way fails with GC4010, and iterations end."""
        if self._open is None:
            return
        connected, bridge = self._open
        bridge.check_loop()
        self._open = None
        bridge.close()
        await bridge.in_own_thread(connected.close)

    async def __aenter__(self) -> "Client":
        return await self.connect()

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    def _connected(self) -> Tuple[client.Client, Bridge]:
        if self._open is None:
            raise RuntimeError("this client is not connected. Use it in `async with`, or await connect()")
        self._open[1].check_loop()
        return self._open

    def open_session(self, ttl: float = 10.0, *, checks: Sequence[HealthCheck] = (),
                     on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                     on_report: Reports = None) -> "Pending[Session]":
        """Awaits the session, or holds it for an `async with` block; its events() are for `async for`. checks: what it is
        bound to, run by this process; each must pass once first (GC6350). on_report runs in the loop."""
        async def coming() -> Session:
            connected, bridge = self._connected()
            future = connected.open_session_async(ttl, checks=checks, on_unhealthy=on_unhealthy,
                                                  on_report=_in_loop(bridge, on_report))
            return Session(bridge, await bridge.outcome(future, _forget_session))

        return Pending(coming())

    def grant_session(self, ttl: float = 10.0, session_id: int = 0, *, checks: Sequence[HealthCheck] = (),
                      on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                      on_report: Reports = None) -> "Pending[Session]":
        """A session that is registered at once, under an id of the caller's choice if wanted (GC6301 when it lives)."""
        async def coming() -> Session:
            connected, bridge = self._connected()
            future = connected.grant_session_async(ttl, session_id, checks=checks, on_unhealthy=on_unhealthy,
                                                   on_report=_in_loop(bridge, on_report))
            return Session(bridge, await bridge.outcome(future, _forget_session))

        return Pending(coming())

    def attach_session(self, session_id: int, ttl: float = 10.0, first_sequence: int = 1, keep_alive: bool = False, *,
                       key: Optional[lib.Secret] = None, checks: Sequence[HealthCheck] = (), on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                       on_report: Reports = None) -> Session:
        """Speaks for a session that another program opened, with its key where nodes ask for keys; asks no node, so there
        is nothing to await."""
        connected, bridge = self._connected()
        return Session(bridge, connected.attach_session(session_id, ttl, first_sequence, keep_alive, key=key,
                                                        checks=checks, on_unhealthy=on_unhealthy,
                                                        on_report=_in_loop(bridge, on_report)))

    def take_lease(self, name: str, ttl: float = 10.0, wait: Optional[float] = None, *,
                   checks: Sequence[HealthCheck] = (), on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                   on_report: Reports = None) -> "Pending[Lease]":
        """A name in a session of its own; wait is as in Session.acquire. A cancelled wait leaves nothing held."""
        async def coming() -> Lease:
            connected, bridge = self._connected()
            future = connected.take_lease_async(name, ttl, wait, checks=checks, on_unhealthy=on_unhealthy,
                                                on_report=_in_loop(bridge, on_report))
            return Lease(bridge, await bridge.outcome(future, _forget_lease))

        return Pending(coming())

    def watch(self, name: Optional[str] = None, *, prefix: Optional[str] = None, session_id: int = 0,
              waiters: bool = False, from_revision: int = 0, start: Optional[Mapping[int, int]] = None,
              kinds: Iterable[watches.EventKind] = (), progress_interval: float = 10.0,
              queue_bytes_max: int = 8 << 20, previous: bool = False) -> "Pending[Watch]":
        """One of a name, a prefix and a session; arguments are those of gcoord.Client.watch. Once it has been awaited or
        entered, nothing that is decided is missed."""
        async def coming() -> Watch:
            connected, bridge = self._connected()

            def open_it() -> watches.Watch:
                return connected.watch(name, prefix=prefix, session_id=session_id, waiters=waiters,
                                       from_revision=from_revision, start=start, kinds=kinds,
                                       progress_interval=progress_interval, queue_bytes_max=queue_bytes_max,
                                       previous=previous)

            return Watch(bridge, await bridge.in_thread(open_it, lambda late: late.close()))

        return Pending(coming())

    def observe(self, name: str) -> "Pending[LeaderStream]":
        """Who leads in an election from now on, the present leader first."""
        async def coming() -> LeaderStream:
            connected, bridge = self._connected()

            def open_it() -> leaders.LeaderStream:
                return connected.observe(name)

            return LeaderStream(bridge, await bridge.in_thread(open_it, lambda late: late.close()))

        return Pending(coming())

    def group_views(self, name: str) -> GroupViews:
        """Who is in a group, view by view. Asks no node."""
        connected, bridge = self._connected()
        return GroupViews(bridge, connected.group_views(name))

    def rendezvous_states(self, name: str) -> RendezvousStates:
        """Who is in the last round of a rendezvous, and who waits. Asks no node."""
        connected, bridge = self._connected()
        return RendezvousStates(bridge, connected.rendezvous_states(name))

    async def keep_alive_once(self, session_id: int) -> SessionDescription:
        """Renews any session once, whoever opened it."""
        renewed: SessionDescription = await self._ask(client.Client.keep_alive_once_async, session_id)
        return renewed

    async def break_lock(self, name: str, who: str, reason: str, token: int = 0) -> Holder:
        """Takes a lock from its holders by force (token 0), or from the one under the token; returns whose it was."""
        broken: Holder = await self._ask(client.Client.break_lock_async, name, who, reason, token)
        return broken

    async def move_lock(self, name: str, to_shard: int) -> None:
        """Moves the lock of a name to another shard while it is held and waited for. For operators."""
        await self._ask(client.Client.move_lock_async, name, to_shard)

    async def ask_transfer(self, name: str, session_id: int, epoch: int = 0) -> None:
        """Asks the leader (of this epoch) to hand over to a candidate; one that looks at its line does."""
        await self._ask(client.Client.ask_transfer_async, name, session_id, epoch)

    def identity(self) -> Identity:
        """Who this client is to the nodes that it has logged in to; asks no node."""
        return self._connected()[0].identity()

    def clock_moved(self) -> None:
        """Of a client with a clock of its own: it was moved, so that due timers run."""
        self._connected()[0].clock_moved()
