"""Users and roles of a cluster, who may do what, and who a client is (gcoord/access.h)."""

import ctypes
import enum
from concurrent.futures import Future
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from . import _library as lib


class AccessAction(enum.IntEnum):
    """What a change does. Beside each what it takes, after the name of the user or the role."""

    USER_ADD = 1  # password, or none for a user that shows a certificate; roles.
    USER_DELETE = 2
    USER_PASSWORD = 3  # password; none: no password is right any more.
    USER_GRANT = 4  # roles.
    USER_REVOKE = 5  # roles.
    USER_ENABLE = 6
    USER_DISABLE = 7
    ROLE_ADD = 8  # roles that it includes, and grants.
    ROLE_DELETE = 9  # Users and roles that have it lose it.
    ROLE_GRANT = 10  # roles to include, and grants.
    ROLE_REVOKE = 11  # roles and grants to take away.
    ENABLE = 12  # Not even a name: check rights from now on; only by who proves to be an administrator.
    DISABLE = 13  # Not even a name.


class AccessSubject(enum.IntEnum):
    STATUS = 0  # No rows.
    USERS = 1
    ROLES = 2


@dataclass(frozen=True)
class AccessGrant:
    """Rights on names: those that begin with the prefix, or that name alone."""

    rights: Sequence[str]  # As "lock.acquire"; in a change also "read", "details", "write", "admin" for several.
    prefix: str = ""  # Empty: all names, and what has no name.
    exact: bool = False


@dataclass(frozen=True)
class AccessUser:
    name: str
    has_password: bool
    disabled: bool
    roles: "list[str]"
    changed: int  # Epoch of its last password, or of being enabled or disabled.


@dataclass(frozen=True)
class AccessRole:
    name: str
    grants: "list[AccessGrant]"
    includes: "list[str]"


@dataclass(frozen=True)
class AccessReport:
    epoch: int  # 0: there are neither users nor roles, and never were.
    enabled: bool  # Rights are checked.
    recoveries: int  # How often gcoordd --auth-recover switched rights off.
    user_count: int
    role_count: int  # Without root.
    users: "list[AccessUser]"
    roles: "list[AccessRole]"
    more: bool  # Rows behind the last one were left out.


@dataclass(frozen=True)
class Identity:
    """Who a client is to the nodes. `token` is a secret, and may be wiped: whoever shows it is this user for as long."""

    kind: str  # "anonymous", "certificate", "user" or "node".
    name: str  # Empty for anonymous.
    token: bytearray = field(repr=False)  # Empty without a login.
    token_left: float


class _Grant(ctypes.Structure):
    _fields_ = [("rights", POINTER(c_char_p)), ("right_count", c_size_t), ("prefix", c_char_p), ("exact", c_bool)]


class _Change(lib.Fields):
    _fields_ = [
        ("struct_bytes", c_size_t), ("action", c_int32), ("name", c_char_p), ("password", c_char_p),
        ("roles", POINTER(c_char_p)), ("role_count", c_size_t), ("grants", POINTER(_Grant)), ("grant_count", c_size_t),
        ("epoch", c_uint64), ("dry_run", c_bool), ("who", c_char_p),
    ]


class _Query(lib.Fields):
    _fields_ = [("struct_bytes", c_size_t), ("subject", c_int32), ("name", c_char_p), ("after", c_char_p),
                ("limit", c_uint32), ("node_id", c_uint32)]


class _Facts(ctypes.Structure):
    _fields_ = [("epoch", c_uint64), ("enabled", c_bool), ("recoveries", c_uint64), ("user_count", c_uint32),
                ("role_count", c_uint32), ("more", c_bool)]


class _User(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("has_password", c_bool), ("disabled", c_bool), ("roles", POINTER(c_char_p)),
                ("role_count", c_size_t), ("changed", c_uint64)]


class _Role(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("grants", POINTER(_Grant)), ("grant_count", c_size_t),
                ("includes", POINTER(c_char_p)), ("include_count", c_size_t)]


_HANDLE = c_void_p
_ERROR = POINTER(lib.Error)

# Before the library is loaded, which is at the first call.
lib._FUNCTIONS.update({
    "gcoord_access_change_init": (None, [POINTER(_Change)]),
    "gcoord_access_query_init": (None, [POINTER(_Query)]),
    "gcoord_access": (c_int32, [_HANDLE, POINTER(_Query), POINTER(c_void_p), _ERROR]),
    "gcoord_access_async": (c_int32, [_HANDLE, POINTER(_Query), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_change_access": (c_int32, [_HANDLE, POINTER(_Change), POINTER(c_void_p), _ERROR]),
    "gcoord_change_access_async": (c_int32, [_HANDLE, POINTER(_Change), lib.HandleCallback, c_void_p, _ERROR]),
    "gcoord_access_report_free": (None, [_HANDLE]),
    "gcoord_access_report_facts": (_Facts, [_HANDLE]),
    "gcoord_access_report_users": (c_size_t, [_HANDLE]),
    "gcoord_access_report_user": (_User, [_HANDLE, c_size_t]),
    "gcoord_access_report_roles": (c_size_t, [_HANDLE]),
    "gcoord_access_report_role": (_Role, [_HANDLE, c_size_t]),
    "gcoord_client_identity": (c_int32, [_HANDLE, POINTER(c_void_p), _ERROR]),
    "gcoord_identity_free": (None, [_HANDLE]),
    "gcoord_identity_kind": (c_char_p, [_HANDLE]),
    "gcoord_identity_name": (c_char_p, [_HANDLE]),
    "gcoord_identity_token": (c_void_p, [_HANDLE]),
    "gcoord_identity_token_left_ms": (c_int64, [_HANDLE]),
})


def _texts(words: Iterable[str], what: str) -> Tuple[Any, int]:
    if isinstance(words, str):
        raise lib.refusal(1001, f"one text where a list of {what} belongs. Use a list")
    given = [lib.text(word, what) for word in words]
    return (c_char_p * len(given))(*given), len(given)


def _grant(given: AccessGrant) -> _Grant:
    rights, count = _texts(given.rights, "rights")
    return _Grant(rights, count, lib.text(given.prefix, "prefix"), given.exact)


def _grants(array: Any, count: int) -> List[AccessGrant]:
    return [AccessGrant(lib.texts_of(each.rights, each.right_count), lib.said(each.prefix), each.exact)
            for each in array[:count]]


def _taken(handle: Optional[int]) -> AccessReport:
    """What a report says, which is freed."""
    library = lib.library()
    try:
        facts = library.gcoord_access_report_facts(handle)
        users = [library.gcoord_access_report_user(handle, k) for k in range(library.gcoord_access_report_users(handle))]
        roles = [library.gcoord_access_report_role(handle, k) for k in range(library.gcoord_access_report_roles(handle))]
        return AccessReport(
            facts.epoch, facts.enabled, facts.recoveries, facts.user_count, facts.role_count,
            [AccessUser(lib.said(each.name), each.has_password, each.disabled, lib.texts_of(each.roles, each.role_count),
                        each.changed) for each in users],
            [AccessRole(lib.said(each.name), _grants(each.grants, each.grant_count),
                        lib.texts_of(each.includes, each.include_count)) for each in roles],
            facts.more)
    finally:
        library.gcoord_access_report_free(handle)


def _query(subject: AccessSubject, name: str, after: str, limit: int, node_id: int) -> _Query:
    query = _Query()
    lib.library().gcoord_access_query_init(byref(query))
    query.subject, query.name, query.after = subject, lib.text(name), lib.text(after)
    query.limit, query.node_id = limit, node_id
    return query


def _change(action: AccessAction, name: str, roles: Iterable[str], grants: Iterable[AccessGrant]) -> _Change:
    change = _Change()
    lib.library().gcoord_access_change_init(byref(change))
    change.action, change.name = action, lib.text(name)
    change.roles, change.role_count = _texts(roles, "roles")
    made = [_grant(each) for each in grants]
    change.grants, change.grant_count = (_Grant * len(made))(*made), len(made)
    return change


class Access:
    """What Client offers for users and roles. Its handle is the client's. Errors are those of Client::access and
    Client::change_access (gcoord/client.h)."""

    def _pointer(self) -> int:
        raise NotImplementedError

    def access(self, subject: AccessSubject = AccessSubject.STATUS, *, name: str = "", after: str = "",
               limit: int = 1000, node_id: int = 0) -> AccessReport:
        """Whether rights are checked, and users or roles: that of the name, or those with greater names than `after`.
        node_id: what that node has applied, which may be older. GC6501, GC6503, GC6517, GC4005."""
        report = c_void_p()
        lib.call("gcoord_access", self._pointer(), byref(_query(subject, name, after, limit, node_id)), byref(report))
        return _taken(report.value)

    def access_async(self, subject: AccessSubject = AccessSubject.STATUS, *, name: str = "", after: str = "",
                     limit: int = 1000, node_id: int = 0) -> "Future[AccessReport]":
        future: "Future[AccessReport]" = Future()
        lib.start("gcoord_access_async", future, lambda handle, _=self: _taken(handle),
                  (self._pointer(), byref(_query(subject, name, after, limit, node_id))), lib.on_handle)
        return future

    def change_access(self, action: AccessAction, name: str = "", *, password: Optional[lib.Secret] = None,
                      roles: Iterable[str] = (), grants: Iterable[AccessGrant] = (), epoch: int = 0,
                      dry_run: bool = False, who: str = "") -> AccessReport:
        """Changes users, roles, or whether rights are checked, in one entry of the ledger, and returns their state without
        rows. epoch: change this one only (GC6512). password: a bytearray can be wiped after the call; the library's own
        copies are. GC6501 to GC6516, GC6518: nothing is changed then."""
        change, report = _change(action, name, roles, grants), c_void_p()
        change.epoch, change.dry_run, change.who = epoch, dry_run, lib.text(who)
        with lib.SecretText(password, "password") as secret:
            change.password = secret.pointer
            lib.call("gcoord_change_access", self._pointer(), byref(change), byref(report))
        return _taken(report.value)

    def change_access_async(self, action: AccessAction, name: str = "", *, password: Optional[lib.Secret] = None,
                            roles: Iterable[str] = (), grants: Iterable[AccessGrant] = (), epoch: int = 0,
                            dry_run: bool = False, who: str = "") -> "Future[AccessReport]":
        """The same without waiting; the password may be wiped when this returns."""
        change = _change(action, name, roles, grants)
        change.epoch, change.dry_run, change.who = epoch, dry_run, lib.text(who)
        future: "Future[AccessReport]" = Future()
        with lib.SecretText(password, "password") as secret:
            change.password = secret.pointer
            lib.start("gcoord_change_access_async", future, lambda handle, _=self: _taken(handle),
                      (self._pointer(), byref(change)), lib.on_handle)
        return future

    def identity(self) -> Identity:
        """Who this client is to the nodes that it has logged in to with its user or token. Asks no node: "anonymous"
        without them, also with a certificate."""
        library, found = lib.library(), c_void_p()
        lib.call("gcoord_client_identity", self._pointer(), byref(found))
        try:
            return Identity(lib.said(library.gcoord_identity_kind(found)), lib.said(library.gcoord_identity_name(found)),
                            lib.secret_at(library.gcoord_identity_token(found)),
                            library.gcoord_identity_token_left_ms(found) / 1000)
        finally:
            library.gcoord_identity_free(found)
