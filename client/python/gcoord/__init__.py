"""The client of a gcoord cluster: fenced locks, leases and elections.

    with gcoord.Client("127.0.0.1:7401,127.0.0.1:7402") as client:
        with client.open_session(ttl=10) as session:
            with session.acquire("jobs/train-7") as lock:
                write_checkpoint(fence=lock.fence)

Names are those of the C++ library, and so are the promises (docs/client.md): while `valid` or `is_leader()` is true,
nobody else holds the name, given clocks that differ in rate by less than drift_divisor and drift_margin allow; work
that may outlast that carries `fence` or `epoch` to whatever it writes to.

Times are seconds. Any method may be called from any thread. Callbacks run on the client's own thread: they return
soon and call nothing that blocks (which fails there with GC4011).
"""

from .client import Client
from .election import Election
from .errors import (ElectionVacant, GcoordError, HoldBroken, LockBusy, SessionExpired, StatusCode, Unreachable,
                     WaitCancelled, WaitTimedOut)
from .lease import Lease
from .session import Lock, Session
from .types import Candidate, Holder, Line, SessionEvent, Verdict
from .watch import Batch, Event, EventKind, Watch

__all__ = [
    "Batch", "Event", "EventKind", "Watch",
    "Candidate", "Client", "Election", "ElectionVacant", "GcoordError", "Holder", "Lease", "Line", "Lock", "LockBusy",
    "HoldBroken", "Session", "SessionEvent", "SessionExpired", "StatusCode", "Unreachable", "Verdict", "WaitCancelled", "WaitTimedOut",
]
__version__ = "0.1.0"
