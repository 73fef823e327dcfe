"""Sessions as the cluster knows them: described, listed, renewed."""

from concurrent.futures import Future
from ctypes import byref, c_void_p
from typing import List, Optional

from . import _library as lib
from . import _session_library as sessions
from .types import SessionDescription, SessionFilter, SessionsPage


def _described(facts: sessions.Facts, keys: List[str]) -> SessionDescription:
    return SessionDescription(facts.session_id, facts.alive, facts.granted, facts.ttl_ms / 1000,
                              facts.remaining_ms / 1000, facts.shard_count, facts.lock_count, keys)


def _taken(handle: int) -> SessionDescription:
    """What a description says, which is freed."""
    library = lib.library()
    try:
        count = library.gcoord_session_description_keys(handle)
        keys = [library.gcoord_session_description_key(handle, k).decode("utf-8", "surrogateescape") for k in range(count)]
        return _described(library.gcoord_session_description_facts(handle), keys)
    finally:
        library.gcoord_session_description_free(handle)


class Sessions:
    """What Client offers for looking at sessions. Its handle is the client's."""

    def _pointer(self) -> int:
        raise NotImplementedError

    def session(self, session_id: int) -> SessionDescription:
        """What is left of a session, and which locks it holds. One that is gone is an answer."""
        found = c_void_p()
        lib.call("gcoord_session_describe", self._pointer(), session_id, byref(found))
        return _taken(found.value or 0)

    def session_async(self, session_id: int) -> "Future[SessionDescription]":
        future: "Future[SessionDescription]" = Future()
        lib.start("gcoord_session_describe_async", future, lambda handle, _=self: _taken(handle),
                  (self._pointer(), session_id), lib.on_handle)
        return future

    def keep_alive_once(self, session_id: int) -> SessionDescription:
        """Renews any session once, whoever opened it."""
        facts = sessions.Facts()
        lib.call("gcoord_session_keep_alive_once", self._pointer(), session_id, byref(facts))
        return _described(facts, [])

    def keep_alive_once_async(self, session_id: int) -> "Future[SessionDescription]":
        future: "Future[SessionDescription]" = Future()
        lib.start("gcoord_session_keep_alive_once_async", future, lambda facts, _=self: _described(facts.contents, []),
                  (self._pointer(), session_id), sessions.on_facts)
        return future

    def list_sessions(self, cursor: str = "", limit: int = 1000, *, filter: SessionFilter = SessionFilter.ALL,
                      remaining_below: Optional[float] = None, count_only: bool = False) -> SessionsPage:
        """Sessions page by page and node by node."""
        library, found, options = lib.library(), c_void_p(), sessions.ListOptions()
        library.gcoord_session_list_options_init(byref(options))
        options.filter, options.limit, options.count_only = filter, limit, count_only
        options.remaining_below_ms, options.cursor = lib.wait_of(remaining_below), lib.text(cursor)
        lib.call("gcoord_session_list", self._pointer(), byref(options), byref(found))
        try:
            listed = [_described(library.gcoord_session_page_facts(found, k), [])
                      for k in range(library.gcoord_session_page_size(found))]
            return SessionsPage(listed, library.gcoord_session_page_count(found),
                                library.gcoord_session_page_cursor(found).decode(),
                                library.gcoord_session_page_complete(found))
        finally:
            library.gcoord_session_page_free(found)
