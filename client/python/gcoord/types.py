"""What calls answer with. Numbers are those of gcoord.h and never change."""

import enum
from dataclasses import dataclass
from typing import Any, Optional


# Stands for the session of a holder, waiter or candidate whom this client may not see: nodes that check rights show it to
# those who lack lock.read.details of the name (watch.details in events). No session has this id. The property `hidden` of
# what has it says the same; the token, the epoch, the note and the value beside it are then left out, which says nothing of
# what they are.
HIDDEN_SESSION = 2**64 - 1


class Verdict(enum.IntEnum):
    """What a token is worth. FREE: nobody holds the lock; STALE: it is held under another token."""

    VALID = 1
    STALE = 2
    FREE = 3


class SessionEvent(enum.IntEnum):
    """They come in this order; nothing comes after EXPIRED, which comes before others may have the locks. LOCK_LOST may
    come any time before it: an operator broke a hold of the session, which lives; Lock.valid tells of which."""

    JEOPARDY = 0
    SAFE = 1
    EXPIRED = 2
    LOCK_LOST = 3


@dataclass(frozen=True)
class Candidate:
    """One who waits to lead, or leads."""

    session_id: int
    waited: float
    priority: int
    value: bytes

    @property
    def hidden(self) -> bool:
        """Who it is, and its value, this client may not see."""
        return self.session_id == HIDDEN_SESSION


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, or leads in an election: then the token is the epoch."""

    session_id: int  # 0: nobody; the lock is only waited for.
    token: int  # 0 where hidden.
    ttl_left: float
    waiter_count: int

    @property
    def hidden(self) -> bool:
        """There is one whom this client may not see."""
        return self.session_id == HIDDEN_SESSION

    @property
    def epoch(self) -> int:
        return self.token


@dataclass(frozen=True)
class Line:
    """An election: who leads, in which epoch, and who stands in line behind."""

    leader: Candidate
    epoch: int
    candidates: "list[Candidate]"


# ---- locks, looked at ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Waiter:
    """One who waits for a lock, in queue order."""

    session_id: int
    sequence: int
    waited: float


@dataclass(frozen=True)
class Sharer:
    """One of those who share a lock."""

    session_id: int
    token: int
    acquired_index: int
    permits: int


@dataclass(frozen=True)
class LockDescription:
    """A lock that is held or waited for."""

    name: str
    shard: int
    holder_session: int  # 0: nobody; the lock is only waited for.
    token: int
    acquired_index: int
    ttl_left: float
    waiter_count: int
    waiters: "list[Waiter]"  # When they were asked for.
    hold_count: int  # Releases that are owed; 0: nobody has it until a lock-delay is over.
    permits_max: int
    note: bytes
    holders: "list[Sharer]"  # Of a lock that is shared, oldest first.

    @property
    def session_id(self) -> int:
        return self.holder_session

    @property
    def hidden(self) -> bool:
        """Somebody holds it whom this client may not see: token, note, waiters and holders are left out."""
        return self.holder_session == HIDDEN_SESSION


@dataclass(frozen=True)
class LockPage:
    """Locks of one node after the other; `next_cursor` is empty after the last page. A page may be empty before that."""

    locks: "list[LockDescription]"
    next_cursor: str
    complete: bool  # False: a node, or the leader of a shard, could not be asked.


# ---- reads that say how fresh they must be ---------------------------------------------------------------------------


class Consistency(enum.IntEnum):
    """As gcoord/reads.h says."""

    LINEARIZABLE = 1
    LEASE = 2
    SERIALIZABLE = 3
    BOUNDED = 4
    MONOTONIC = 5


@dataclass(frozen=True)
class Position:
    """A place in one shard's log."""

    shard: int
    index: int


@dataclass(frozen=True)
class Freshness:
    """An answer shows everything up to `index`, and what was acknowledged more than `age` seconds ago (None: not known)."""

    shard: int
    index: int
    age: Optional[float]


@dataclass(frozen=True)
class LockReading:
    lock: Optional[LockDescription]  # None: it is neither held nor waited for.
    at: Freshness


@dataclass(frozen=True)
class VerdictReading:
    verdict: Verdict
    at: Freshness


@dataclass(frozen=True)
class BatchReading:
    """Answers in the order asked; shards are those of the names, each once."""

    answers: "list[Any]"  # LockDescription or None, or Verdict.
    shards: "list[Freshness]"


@dataclass(frozen=True)
class ReadPage:
    """A page of what one node holds; its cursor means nothing to others."""

    page: LockPage
    node_id: int
    shards: "list[Freshness]"


# ---- sessions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LostLock:
    """A lock that an operator took from a session that lives."""

    name: str
    token: int


class UnhealthyAction(enum.IntEnum):
    """What becomes of a session whose health check fails: it is not kept alive any more, or ended at once."""

    STARVE = 1
    CLOSE = 2


@dataclass(frozen=True)
class HealthCheck:
    """`what`: "tcp:HOST:PORT", "http://HOST:PORT/PATH" or "command:LINE". Times are seconds."""

    what: str
    interval: float = 10.0
    timeout: float = 5.0
    failures: int = 3  # In a row, before the session is unhealthy.


@dataclass(frozen=True)
class CheckReport:
    """What a run of a check found: which of the session's, and what that makes of the session."""

    check: int
    passing: bool
    failures_in_row: int
    session_healthy: bool
    evidence: str


@dataclass(frozen=True)
class SessionDescription:
    """What the cluster knows of a session; one that is gone is not alive, which is an answer."""

    session_id: int
    alive: bool
    granted: bool
    ttl: float
    remaining: float  # Below 0: it is gone.
    shard_count: int
    lock_count: int
    keys: "list[str]"  # Names of its locks; of Client.session only.


class SessionFilter(enum.IntEnum):
    ALL = 0
    HOLDING = 1
    IDLE = 2


@dataclass(frozen=True)
class SessionsPage:
    sessions: "list[SessionDescription]"
    count: int
    next_cursor: str  # Empty: no more.
    complete: bool


@dataclass(frozen=True)
class Office:
    """A term of a leader, as Client.observe tells of it."""

    session_id: int
    epoch: int  # 0 where hidden.
    value: bytes

    @property
    def hidden(self) -> bool:
        """Who it is this client may not see. Such a term may come twice, since nothing tells it from the next."""
        return self.session_id == HIDDEN_SESSION


@dataclass(frozen=True)
class SessionOrigin:
    """Who is behind a session, as the ledger's notes say: who a node has proven, where from, and what the client calls itself,
    which proves nothing."""

    session_id: int
    since: float  # Unix time, in seconds: when it was opened.
    principal_kind: str  # "anonymous", "certificate", "user" or "node".
    principal: str  # Empty for anonymous.
    address_class: str  # "loopback", "private", "public", "local" or "unknown".
    address: str  # "-" where there is none.
    client: str


# ---- the cluster as a client sees it ---------------------------------------------------------------------------------


class BreakerState(enum.IntEnum):
    """Whether requests go to an endpoint. OPEN: they go to others, or wait; HALF_OPEN: one try is on its way there."""

    CLOSED = 0
    OPEN = 1
    HALF_OPEN = 2


@dataclass(frozen=True)
class NodeView:
    node_id: int  # 0: not known; it never answered.
    address: str
    connected: bool
    breaker: BreakerState
    last_error: str  # Why it is not connected, or its breaker not closed; empty: it is.


@dataclass(frozen=True)
class ClusterView:
    cluster_id: int
    shard_count: int
    tick: float
    election_timeout: float
    ttl_min: float  # What a session may ask for.
    ttl_max: float
    nodes: "list[NodeView]"


@dataclass(frozen=True)
class ClientStatistics:
    requests: int  # Sent, retries included.
    frames: int  # In which they were sent.
    retries: int  # Sent again after a back-off.
    redirects: int  # Sent again to the leader that a node named.
    moves: int  # Sent again to the shard where a lock was moved to.
    reconnects: int  # Connections lost after they were up.
