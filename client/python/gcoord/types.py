"""What calls answer with. Numbers are those of gcoord.h and never change."""

import enum
from dataclasses import dataclass


class Verdict(enum.IntEnum):
    """What a token is worth. FREE: nobody holds the lock; STALE: it is held under another token."""

    VALID = 1
    STALE = 2
    FREE = 3


class SessionEvent(enum.IntEnum):
    """They come in this order; nothing comes after EXPIRED, which is told before others may have the locks. LOCK_LOST may
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


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, or leads in an election: then the token is the epoch."""

    session_id: int  # 0: nobody; the lock is only waited for.
    token: int
    ttl_left: float
    waiter_count: int

    @property
    def epoch(self) -> int:
        return self.token


@dataclass(frozen=True)
class Line:
    """An election: who leads, in which epoch, and who stands in line behind."""

    leader: Candidate
    epoch: int
    candidates: "list[Candidate]"
