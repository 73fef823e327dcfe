"""Sessions as the cluster knows them: described, listed, renewed."""

from concurrent.futures import Future
from ctypes import byref, c_uint64, c_void_p
from typing import Any, Iterable, List, Optional, Tuple

from . import _library as lib
from . import _session_library as sessions
from .types import SessionDescription, SessionFilter, SessionOrigin, SessionsPage


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


def _origin(row: sessions.Origin) -> SessionOrigin:
    return SessionOrigin(row.session_id, row.since_ms / 1000, lib.said(row.principal_kind), lib.said(row.principal),
                         lib.said(row.address_class), lib.said(row.address), lib.said(row.client))


def _origins(handle: Optional[int]) -> List[SessionOrigin]:
    """What they say, which are freed."""
    library = lib.library()
    try:
        return [_origin(library.gcoord_origins_get(handle, k)) for k in range(library.gcoord_origins_size(handle))]
    finally:
        library.gcoord_origins_free(handle)


def _ids(session_ids: Iterable[int]) -> Tuple[Any, int]:
    given = list(session_ids)
    for each in given:
        lib.check_fits(c_uint64, each)
    return (c_uint64 * len(given))(*given), len(given)


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

    def session_origins(self, session_ids: Iterable[int]) -> List[SessionOrigin]:
        """Who is behind sessions, at most 1000 of them. What has no note, and what this client may not see
        (session.read.all), is left out. GC4005 by nodes of earlier releases."""
        found = c_void_p()
        lib.call("gcoord_session_origins", self._pointer(), *_ids(session_ids), byref(found))
        return _origins(found.value)

    def session_origins_async(self, session_ids: Iterable[int]) -> "Future[List[SessionOrigin]]":
        future: "Future[List[SessionOrigin]]" = Future()
        lib.start("gcoord_session_origins_async", future, lambda handle, _=self: _origins(handle),
                  (self._pointer(), *_ids(session_ids)), lib.on_handle)
        return future

    def holder_origins(self, name: str) -> List[SessionOrigin]:
        """The same of the holders of a name and of those who wait for it (lock.read.details)."""
        found = c_void_p()
        lib.call("gcoord_holder_origins", self._pointer(), lib.text(name), byref(found))
        return _origins(found.value)

    def holder_origins_async(self, name: str) -> "Future[List[SessionOrigin]]":
        future: "Future[List[SessionOrigin]]" = Future()
        lib.start("gcoord_holder_origins_async", future, lambda handle, _=self: _origins(handle),
                  (self._pointer(), lib.text(name)), lib.on_handle)
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
