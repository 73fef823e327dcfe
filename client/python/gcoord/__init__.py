"""The client of a gcoord cluster: fenced locks, leases and elections.

    with gcoord.Client("127.0.0.1:7401,127.0.0.1:7402") as client:
        with client.open_session(ttl=10) as session:
            with session.acquire("jobs/train-7") as lock:
                write_checkpoint(fence=lock.fence)

Names are those of the C++ library, and so are the promises (docs/reference/client.md): while `valid` or `is_leader()` is true,
nobody else holds the name, given clocks that differ in rate by less than drift_divisor and drift_margin allow; work
that may outlast that carries `fence` or `epoch` to whatever it writes to.

Times are seconds. Any method may be called from any thread. Methods with _async return concurrent.futures.Future, for
asyncio.wrap_future; watches, sessions and leases have a fileno() for selectors and loop.add_reader. Callbacks run on the client's own thread: they return
soon and call nothing that blocks (which fails there with GC4011).
"""

from .access import AccessAction, AccessGrant, AccessReport, AccessRole, AccessSubject, AccessUser, Identity
from .client import Client
from .election import Election
from .errors import (CheckFailing, Deadlock, ElectionVacant, GcoordError, HoldBroken, LockBusy, SessionExpired,
                     SessionUnhealthy, StatusCode, Unreachable, WaitCancelled, WaitTimedOut)
from .group import Group, GroupMember, GroupMembership, GroupView, GroupViews
from .lease import Lease
from .limits import Denial, DenialScope, Limit, LimitScope, LimitsAction, LimitsReport
from .lock_batch import LockBatch
from .multi_lock import MultiLock
from .observe import LeaderStream
from .rendezvous import Rendezvous, RendezvousMember, RendezvousRound, RendezvousState, RendezvousStates
from .session import Lock, Session
from .types import (HIDDEN_SESSION, BatchReading, BreakerState, Candidate, CheckReport, ClientStatistics, ClusterView, Consistency,
                    Freshness, HealthCheck, Holder, Line, LockDescription, LockPage, LockReading, LostLock, NodeView,
                    Office, Position, ReadPage, SessionDescription, SessionEvent, SessionFilter, SessionOrigin, SessionsPage, Sharer,
                    UnhealthyAction, Verdict, VerdictReading, Waiter)
from .watch import Batch, Event, EventKind, Previous, PreviousKind, Watch

__all__ = [
    "AccessAction", "AccessGrant", "AccessReport", "AccessRole", "AccessSubject", "AccessUser", "Batch",
    "BatchReading", "BreakerState", "Candidate", "CheckFailing", "CheckReport", "Client", "ClientStatistics",
    "ClusterView", "Consistency", "Deadlock", "Denial", "DenialScope", "Election", "ElectionVacant", "Event",
    "EventKind", "Freshness", "GcoordError", "Group", "GroupMember", "GroupMembership", "GroupView", "GroupViews",
    "HIDDEN_SESSION", "HealthCheck", "HoldBroken", "Holder", "Identity", "LeaderStream", "Lease", "Limit",
    "LimitScope", "LimitsAction", "LimitsReport", "Line", "Lock", "LockBatch", "LockBusy", "LockDescription",
    "LockPage", "LockReading", "LostLock", "MultiLock", "NodeView", "Office", "Position", "Previous", "PreviousKind", "ReadPage",
    "Rendezvous", "RendezvousMember", "RendezvousRound", "RendezvousState", "RendezvousStates", "Session",
    "SessionDescription", "SessionEvent", "SessionExpired", "SessionFilter", "SessionOrigin", "SessionUnhealthy",
    "SessionsPage", "Sharer", "StatusCode", "UnhealthyAction", "Unreachable", "Verdict", "VerdictReading",
    "WaitCancelled", "WaitTimedOut", "Waiter", "Watch",
]
__version__ = "0.1.0"
