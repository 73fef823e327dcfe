"""Failures, by their stable numbers (docs/reference/errors.md)."""

import enum
from typing import Dict, Type


class StatusCode(enum.IntEnum):
    """The canonical codes of gRPC."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class GcoordError(Exception):
    """A call failed. `number` is 6001 for GC6001, 0 when there is none; the message's words may change."""

    def __init__(self, status: int, number: int, message: str) -> None:
        super().__init__(f"{message} (GC{number})" if number else message)
        self.status = StatusCode(status)
        self.number = number
        self.message = message


class Unreachable(GcoordError):
    """No node of the cluster can be reached."""


class LockBusy(GcoordError):
    """Another session holds it, and the call was not to wait."""


class WaitTimedOut(GcoordError):
    """It was not granted within the wait."""


class WaitCancelled(GcoordError):
    """The wait was given up meanwhile."""


class SessionExpired(GcoordError):
    """The session is lost, with all its locks."""


class HoldBroken(GcoordError):
    """An operator broke the hold of the lock by force."""


class Deadlock(GcoordError):
    """The wait was one of a circle of waits; the message names the circle."""


class CheckFailing(GcoordError):
    """A health check failed before the session that it is bound to began."""


class SessionUnhealthy(GcoordError):
    """A health check of the session fails, so it takes on nothing."""


class ElectionVacant(GcoordError):
    """Nobody leads: an answer, not a failure to find out."""


BY_NUMBER: Dict[int, Type[GcoordError]] = {
    3001: Unreachable,
    3011: Unreachable,
    6001: LockBusy,
    6005: WaitTimedOut,
    6006: WaitCancelled,
    6007: SessionExpired,
    6030: HoldBroken,
    6040: Deadlock,
    6101: ElectionVacant,
    6350: CheckFailing,
    6351: SessionUnhealthy,
}


def make_error(status: int, number: int, message: str) -> GcoordError:
    return BY_NUMBER.get(number, GcoordError)(status, number, message)
