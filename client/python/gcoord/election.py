"""Elections: at most one candidate of a name leads at any time."""

from concurrent.futures import Future
from ctypes import byref, c_void_p
from typing import Optional

from . import _library as lib
from ._handle import Held


class Election(Held):
    """One session's candidacy. Made by Session.election; leaving its `with` block resigns. detach() leaves the office to
    live with its session."""

    _free_function = "gcoord_election_free"
    _give_back_function = "gcoord_election_resign"
    _detach_function = "gcoord_election_detach"

    def __init__(self, session: object, session_pointer: int, name: str) -> None:
        self._session = session  # Lives at least as long as its candidacy.
        handle = c_void_p()
        lib.call("gcoord_election_make", session_pointer, lib.text(name), byref(handle))
        super().__init__(handle.value or 0)

    def _described(self) -> str:
        return f"{self.name!r} epoch={self.epoch} {'leads' if self.is_leader() else 'does not lead'}"

    @property
    def name(self) -> str:
        return lib.words("gcoord_election_name", self._handle.pointer())

    @property
    def epoch(self) -> int:
        """Fencing token of the last term of office that this candidate won; 0 before the first."""
        return lib.number("gcoord_election_epoch", self._handle.pointer())

    @property
    def leader_until_ns(self) -> int:
        """Until when it leads for certain, by Client.now_ns(); 0 when it does not."""
        return lib.number("gcoord_election_leader_until_ns", self._handle.pointer())

    def is_leader(self, now_ns: Optional[int] = None) -> bool:
        """Now, or at a moment of Client.now_ns(). False before a node could elect another."""
        if now_ns is None:
            return lib.truth("gcoord_election_is_leader", self._handle.pointer())
        return lib.truth("gcoord_election_is_leader_at", self._handle.pointer(), now_ns)

    def campaign(self, wait: Optional[float] = None, value: bytes = b"", priority: int = 0,
                 hysteresis: Optional[float] = None, review: float = 0) -> None:
        """Waits in line until it leads; wait is as in Session.acquire. Broken off (Ctrl-C), it resigns.

        Others read `value`. While it leads it looks at its line every `review` seconds (0: never): it hands over when
        somebody asked for that (Client.ask_transfer), and to a candidate of a higher priority (0 to 255) that has
        stood in line for `hysteresis` seconds (None: never).
        """
        campaign = self.campaign_async(wait, value, priority, hysteresis, review)
        try:
            campaign.result()
        except BaseException:
            if not campaign.done() or campaign.exception() is None:
                self.resign()  # Gives back a grant that is on its way, too.
            raise

    def campaign_async(self, wait: Optional[float] = None, value: bytes = b"", priority: int = 0,
                       hysteresis: Optional[float] = None, review: float = 0) -> "Future[None]":
        future: "Future[None]" = Future()
        said = lib.octets(value)
        fields = lib.CampaignFields(lib.wait_of(wait), said, len(said), priority, lib.wait_of(hysteresis),
                                    lib.milliseconds(review))
        # The callback holds the candidacy for as long as it is under way.
        lib.start("gcoord_election_stand_async", future, lambda _=self: None, (self._handle.pointer(), byref(fields)),
                  lib.on_done)
        # Gives back a grant that is on its way, too.
        future.add_done_callback(lambda done: self.resign_async() if done.cancelled() else None)
        return future

    def proclaim(self, value: bytes) -> None:
        """Changes what others read of the leader, within its term; GC6110 when it does not lead."""
        said = lib.octets(value)
        lib.call("gcoord_election_proclaim", self._handle.pointer(), said, len(said))

    def proclaim_async(self, value: bytes) -> "Future[None]":
        said = lib.octets(value)
        return lib.start_done("gcoord_election_proclaim_async", self, self._handle.pointer(), said, len(said))

    def transfer_async(self, session_id: int) -> "Future[None]":
        return lib.start_done("gcoord_election_transfer_async", self, self._handle.pointer(), session_id)

    def transfer(self, session_id: int) -> None:
        """Hands over to one of the line; GC6111 when no such candidate waits: then it leads on."""
        lib.call("gcoord_election_transfer", self._handle.pointer(), session_id)

    def resign(self) -> None:
        """Hands over to the next in line; does nothing when it leads no more."""
        self._give_back()

    def resign_async(self) -> "Future[None]":
        return self._give_back_async()
