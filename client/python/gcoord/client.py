"""The client: one for a whole program."""

import atexit
import weakref
from concurrent.futures import Future
from ctypes import byref, c_int32, c_void_p, sizeof, string_at
from dataclasses import replace
from os import fspath
from types import TracebackType
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from . import _library as lib
from .access import Access
from ._handle import Handle, wait_for
from .group import GroupViews
from .lease import Lease, take_async
from .limits import Limits
from .looks import Looks, checks_of
from .looks_async import LooksAsync
from .nodes import Nodes
from .observe import LeaderStream
from .rendezvous import RendezvousStates
from ._session_library import Listeners
from .session import EventCallback, LostCallback, Opening, ReportCallback, Session
from .sessions import Sessions
from .types import Candidate, HealthCheck, Holder, Line, UnhealthyAction, Verdict
from .watch import BatchCallback, EndCallback, EventKind, Wanted, Watch

def _holder(found: lib.HolderFields) -> Holder:
    return Holder(found.session_id, found.token, found.ttl_left_ms / 1000, found.waiter_count)


def _candidate(seen: lib.CandidateFields) -> Candidate:
    return Candidate(seen.session_id, seen.waited_ms / 1000, seen.priority, string_at(seen.value, seen.value_bytes))


def _clock_of(clock: Callable[[], int]) -> Any:
    return lib.ClockCallback(lambda _: clock())


_open: "weakref.WeakSet[Client]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """The library's threads must not call into an interpreter that is gone."""
    for client in list(_open):
        try:
            client.close()
        except Exception:  # The next one is closed all the same.
            pass


class Client(Looks, LooksAsync, Nodes, Sessions, Access, Limits):
    """Connections to all nodes. Leaving its `with` block closes it, and the sessions that are open."""

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
        """endpoints: "host:port" of client ports, comma-separated or as a sequence. cacert, cert, key: PEM files, any of
        which means TLS 1.3, as tls does with the CAs of the system. user, password, token, token_file: who this is
        (Credentials); a password or a token that is a bytearray may be wiped when this returns, and the library wipes its
        own copies when the client ends. insecure_credentials: show them also in plain TCP beyond loopback (GC6685). clock: for tests, nanoseconds that never go back; tell the client of moves by
        clock_moved(). The others are those of ClientOptions (gcoord/options.h); times are
        seconds."""
        options = lib.ClientOptions()
        lib.library().gcoord_client_options_init_as(byref(options), sizeof(options))
        joined = endpoints if isinstance(endpoints, str) else ",".join(endpoints)
        options.endpoints = lib.text(joined, "list of endpoints")
        options.connect_timeout_ms = lib.milliseconds(connect_timeout)
        options.request_timeout_ms = lib.milliseconds(request_timeout)
        options.drift_divisor = drift_divisor
        options.drift_margin_ms = lib.milliseconds(drift_margin)
        options.cluster_id = cluster_id
        options.client_name = lib.text(client_name, "client's name")
        options.wait_for_cluster = wait_for_cluster
        options.backoff_min_ms = lib.milliseconds(backoff_min)
        options.backoff_max_ms = lib.milliseconds(backoff_max)
        options.retry_budget, options.breaker_failures = retry_budget, breaker_failures
        options.fail_fast = fail_fast
        options.tls, options.insecure_credentials = tls, insecure_credentials
        for name, value in (("cacert", cacert), ("cert", cert), ("key", key), ("server_name", server_name),
                            ("user", user), ("token_file", token_file)):
            setattr(options, name, None if value is None else lib.text(fspath(value), name))
        # Kept for as long as the library may call it.
        self._clock = lib.no_callback(lib.ClockCallback) if clock is None else _clock_of(clock)
        options.now_ns = self._clock
        self._endpoints = joined
        handle = c_void_p()
        with lib.SecretText(password, "password") as word, lib.SecretText(token, "token") as shown:
            options.password, options.token = word.pointer, shown.pointer
            lib.call("gcoord_client_connect", byref(options), byref(handle))
        self._handle = Handle(handle.value or 0, "gcoord_client_free")
        _open.add(self)

    def __repr__(self) -> str:
        return f"<gcoord.Client {self._endpoints} {'closed' if self._handle.closed else 'open'}>"

    def _pointer(self) -> int:
        return self._handle.pointer()

    def open_session(self, ttl: float = 10.0, on_event: Optional[EventCallback] = None, *,
                     on_lost: Optional[LostCallback] = None, checks: Sequence[HealthCheck] = (),
                     on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                     on_report: Optional[ReportCallback] = None) -> Session:
        """checks: what the session is bound to, run by this process; each must pass once first (GC6350)."""
        return self._opening("gcoord_session_open_as", ttl, 0, Listeners(on_event, on_lost, on_report), checks,
                             on_unhealthy).now()

    def open_session_async(self, ttl: float = 10.0, on_event: Optional[EventCallback] = None, *,
                           on_lost: Optional[LostCallback] = None, checks: Sequence[HealthCheck] = (),
                           on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                           on_report: Optional[ReportCallback] = None) -> "Future[Session]":
        return self._opening("gcoord_session_open_as", ttl, 0, Listeners(on_event, on_lost, on_report), checks,
                             on_unhealthy).without_waiting()

    def grant_session(self, ttl: float = 10.0, session_id: int = 0, on_event: Optional[EventCallback] = None, *,
                      on_lost: Optional[LostCallback] = None, checks: Sequence[HealthCheck] = (),
                      on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                      on_report: Optional[ReportCallback] = None) -> Session:
        """A session that is registered at once, under an id of the caller's choice if wanted (GC6301 when it lives)."""
        return self._opening("gcoord_session_grant", ttl, session_id, Listeners(on_event, on_lost, on_report), checks,
                             on_unhealthy).now()

    def grant_session_async(self, ttl: float = 10.0, session_id: int = 0, on_event: Optional[EventCallback] = None, *,
                            on_lost: Optional[LostCallback] = None, checks: Sequence[HealthCheck] = (),
                            on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                            on_report: Optional[ReportCallback] = None) -> "Future[Session]":
        return self._opening("gcoord_session_grant", ttl, session_id, Listeners(on_event, on_lost, on_report), checks,
                             on_unhealthy).without_waiting()

    def attach_session(self, session_id: int, ttl: float = 10.0, first_sequence: int = 1, keep_alive: bool = False,
                       on_event: Optional[EventCallback] = None, *, key: Optional[lib.Secret] = None,
                       checks: Sequence[HealthCheck] = (), on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                       on_report: Optional[ReportCallback] = None) -> Session:
        """Speaks for a session that another program opened. Its acquires are numbered from first_sequence on, which
        must be above all that were used before. key: Session.key() of that program, where nodes ask for keys
        (--session-keys): GC6540 when it is none, and GC6541 of the requests without it. A bytearray may be wiped when this
        returns."""
        opening = self._opening("gcoord_session_attach", ttl, session_id, Listeners(on_event, None, on_report), checks,
                                on_unhealthy)
        return replace(opening, key=key).now(keep_alive, first_sequence)

    def _opening(self, function: str, ttl: float, session_id: int, listeners: Listeners, checks: Sequence[HealthCheck],
                 on_unhealthy: UnhealthyAction) -> Opening:
        return Opening(function, self, self._pointer(), ttl, session_id, listeners, checks, on_unhealthy)

    def take_lease(self, name: str, ttl: float = 10.0, wait: Optional[float] = None,
                   on_event: Optional[EventCallback] = None, *, checks: Sequence[HealthCheck] = (),
                   on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                   on_report: Optional[ReportCallback] = None) -> Lease:
        """A name in a session of its own; wait is as in Session.acquire, and checks as in open_session."""
        taking = self.take_lease_async(name, ttl, wait, on_event, checks=checks, on_unhealthy=on_unhealthy,
                                       on_report=on_report)
        return wait_for(taking, lambda late: late._handle.free())

    def take_lease_async(self, name: str, ttl: float = 10.0, wait: Optional[float] = None,
                         on_event: Optional[EventCallback] = None, *, checks: Sequence[HealthCheck] = (),
                         on_unhealthy: UnhealthyAction = UnhealthyAction.STARVE,
                         on_report: Optional[ReportCallback] = None) -> "Future[Lease]":
        return take_async(self, self._handle.pointer(), lib.text(name), ttl, wait, Listeners(on_event, None, on_report),
                          checks, on_unhealthy)

    def check(self, name: str, token: int) -> Verdict:
        """Whether the lock is held under this token, linearizably."""
        verdict = c_int32()
        lib.call("gcoord_check", self._handle.pointer(), lib.text(name), token, byref(verdict))
        return Verdict(verdict.value)

    def check_async(self, name: str, token: int) -> "Future[Verdict]":
        future: "Future[Verdict]" = Future()
        lib.start("gcoord_check_async", future, Verdict, (self._handle.pointer(), lib.text(name), token), lib.on_checked)
        return future

    def check_batch(self, checks: Iterable[Tuple[str, int]]) -> List[Verdict]:
        """Many in few messages; verdicts come in the order asked."""
        names, tokens, asked = checks_of(checks)
        verdicts = (c_int32 * asked)()
        lib.call("gcoord_check_batch", self._handle.pointer(), names, tokens, asked, verdicts)
        return [Verdict(verdict) for verdict in verdicts]

    def break_lock(self, name: str, who: str, reason: str, token: int = 0) -> Holder:
        """Takes a lock from its holders by force (token 0), or from the one under the token; returns whose it was. The log
        keeps who did it and why."""
        broken = lib.HolderFields()
        lib.call("gcoord_lock_break", self._handle.pointer(), lib.text(name), token, lib.text(who), lib.text(reason),
                 byref(broken))
        return _holder(broken)

    def break_lock_async(self, name: str, who: str, reason: str, token: int = 0) -> "Future[Holder]":
        future: "Future[Holder]" = Future()
        lib.start("gcoord_lock_break_async", future, lambda broken, _=self: _holder(broken.contents),
                  (self._handle.pointer(), lib.text(name), token, lib.text(who), lib.text(reason)), lib.on_holder)
        return future

    def move_lock(self, name: str, to_shard: int) -> None:
        """Moves the lock of a name to another shard while it is held and waited for; returns when it has arrived, and goes
        on with a move that was begun. For operators; GC6053, GC6054, GC6052, GC1112."""
        lib.call("gcoord_lock_move", self._handle.pointer(), lib.text(name), to_shard)

    def move_lock_async(self, name: str, to_shard: int) -> "Future[None]":
        return lib.start_done("gcoord_lock_move_async", self, self._handle.pointer(), lib.text(name), to_shard)

    def leader(self, name: str) -> Holder:
        """Who leads in an election; ElectionVacant when nobody does."""
        return self._holder("gcoord_leader", name)

    def leader_async(self, name: str) -> "Future[Holder]":
        future: "Future[Holder]" = Future()
        lib.start("gcoord_leader_async", future, lambda found, _=self: _holder(found.contents),
                  (self._handle.pointer(), lib.text(name)), lib.on_holder)
        return future

    def candidates(self, name: str) -> Line:
        """Who leads in an election, and who stands in line."""
        epochs: List[int] = []
        line: List[Candidate] = []

        @lib.CandidateCallback
        def on_candidate(_user, _place, token, each):  # type: ignore[no-untyped-def]
            epochs.append(token)
            line.append(_candidate(each.contents))

        lib.call("gcoord_candidates", self._handle.pointer(), lib.text(name), on_candidate, None)
        return Line(line[0], epochs[0], line[1:])

    def candidates_async(self, name: str) -> "Future[Line]":
        def line_of(epoch, line, count, _=self):  # type: ignore[no-untyped-def]
            leader, *behind = (_candidate(each) for each in line[:count])
            return Line(leader, epoch, behind)

        future: "Future[Line]" = Future()
        lib.start("gcoord_candidates_async", future, line_of, (self._handle.pointer(), lib.text(name)), lib.on_line)
        return future

    def ask_transfer(self, name: str, session_id: int, epoch: int = 0) -> None:
        """Asks the leader (of this epoch) to hand over to a candidate; one that looks at its line does."""
        lib.call("gcoord_ask_transfer", self._handle.pointer(), lib.text(name), session_id, epoch)

    def ask_transfer_async(self, name: str, session_id: int, epoch: int = 0) -> "Future[None]":
        return lib.start_done("gcoord_ask_transfer_async", self, self._handle.pointer(), lib.text(name), session_id, epoch)

    def _holder(self, function: str, name: str) -> Holder:
        found = lib.HolderFields()
        lib.call(function, self._handle.pointer(), lib.text(name), byref(found))
        return _holder(found)

    def observe(self, name: str) -> LeaderStream:
        """Who leads in an election from now on, the present leader first."""
        return LeaderStream(self, self._pointer(), name)

    def group_views(self, name: str) -> GroupViews:
        """Who is in a group, view by view. Asks no node."""
        return GroupViews(self, self._pointer(), name)

    def rendezvous_states(self, name: str) -> RendezvousStates:
        """Who is in the last round of a rendezvous, and who waits. Asks no node."""
        return RendezvousStates(self, self._pointer(), name)

    def watch(self, name: Optional[str] = None, *, prefix: Optional[str] = None, session_id: int = 0,
              waiters: bool = False, from_revision: int = 0, start: Optional[Mapping[int, int]] = None,
              kinds: Iterable[EventKind] = (), progress_interval: float = 10.0, queue_bytes_max: int = 8 << 20,
              on_batch: Optional[BatchCallback] = None, on_end: Optional[EndCallback] = None,
              previous: bool = False) -> Watch:
        """One of a name, a prefix and a session. From now on, or from a revision: of the name from_revision, else by
        shard as start says. Returns when the watch has begun.

        kinds: only events of these, whatever waiters says; none: all. previous: also what was held before each event
        (Event.previous). progress_interval: how often revisions() rises where nothing happens (0: on demand).
        queue_bytes_max: of batches that nobody has taken; beyond it the node waits. With on_batch there is no next(): it gets each batch, and
        on_end why none comes any more, on the client's thread for watches.
        """
        wanted = Wanted(name, prefix, session_id, waiters, from_revision, start or {}, progress_interval,
                        queue_bytes_max, kinds, previous)
        return Watch(self, self._handle.pointer(), wanted, on_batch, on_end)

    def now_ns(self) -> int:
        """The client's clock, with which leases and elections are asked."""
        return lib.number("gcoord_client_now_ns", self._handle.pointer())

    def clock_moved(self) -> None:
        lib.library().gcoord_client_clock_moved(self._handle.pointer())

    def close(self) -> None:
        """Closes the open sessions and leases, unless they are detached, without waiting long for the answers. No callback
        runs after this. What is under way, in other threads too, fails with GC4010, and iterations end. Not in a callback
        (GC4011)."""
        self._handle.end("gcoord_client_close")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
