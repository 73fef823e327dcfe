"""Users, roles, limits, keys of sessions, and what is hidden: nodes with TLS, where everybody proves who they are."""

import asyncio
import os
import subprocess
import sys
import time
import unittest

import gcoord
import gcoord.aio
from gcoord import AccessAction, AccessGrant, AccessSubject, Denial, DenialScope, Limit, LimitsAction, LimitScope

ENDPOINTS, CACERT = os.environ["GCOORD_ENDPOINTS"], os.environ["GCOORD_CACERT"]
CERT, KEY = os.environ["GCOORD_CERT"], os.environ["GCOORD_KEY"]
PATIENCE = 60  # Seconds; no test waits longer for anything. It only bounds a failure.


def connect(**who) -> gcoord.Client:
    return gcoord.Client(ENDPOINTS, cacert=CACERT, connect_timeout=PATIENCE, request_timeout=PATIENCE, **who)


class TrustTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.admin = connect(cert=CERT, key=KEY)
        change = cls.change_access
        if cls.admin.access().enabled:
            return
        change(AccessAction.USER_ADD, "admin", roles=["root"])
        change(AccessAction.ENABLE)
        change(AccessAction.ROLE_ADD, "jobs", grants=[AccessGrant(["read", "details", "write"], "jobs/")])
        change(AccessAction.ROLE_ADD, "looker", grants=[AccessGrant(["read"], "jobs/")])
        change(AccessAction.USER_ADD, "bob", password="a password of bob's", roles=["jobs"])
        change(AccessAction.USER_ADD, "eve", password=b"a password of eve's", roles=["looker"])

    @classmethod
    def change_access(cls, *what, **how) -> gcoord.AccessReport:
        """As the operator; returns when every node has applied it."""
        report = cls.admin.change_access(*what, **how)
        for node in (1, 2, 3):
            while cls.admin.access(node_id=node).epoch < report.epoch:
                pass
        return report

    @classmethod
    def change_limits(cls, *what, **how) -> gcoord.LimitsReport:
        report = cls.admin.change_limits(*what, **how)
        for node in (1, 2, 3):
            while cls.admin.limits(node_id=node).epoch < report.epoch:
                pass
        return report

    @classmethod
    def tearDownClass(cls) -> None:
        cls.admin.close()

    def as_user(self, name: str, **how) -> gcoord.Client:
        client = connect(user=name, **{"password": f"a password of {name}'s", **how})
        self.addCleanup(client.close)
        return client

    def assert_number(self, number: int, function, *arguments, **options) -> gcoord.GcoordError:
        with self.assertRaises(gcoord.GcoordError) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.number, number, str(caught.exception))
        return caught.exception

    def until_number(self, number: int, function, *arguments) -> None:
        """Roles are judged by a copy of them, which follows an acknowledged change within an election timeout."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                function(*arguments)
            except gcoord.GcoordError as refused:
                if refused.number == number:
                    return
        self.assert_number(number, function, *arguments)


class Users(TrustTest):
    def test_who_a_client_is_and_its_token_is_another_ones(self):
        me = self.as_user("bob").identity()
        self.assertEqual((me.kind, me.name), ("user", "bob"))
        self.assertGreater(me.token_left, 0)
        self.assertNotIn(bytes(me.token).decode(), repr(me))
        with connect(token=me.token) as other:
            self.assertEqual(other.identity().name, "bob")
        self.assertEqual(self.admin.identity().kind, "anonymous")

    def test_users_and_roles_are_listed_as_they_were_made(self):
        status = self.admin.access()
        self.assertTrue(status.enabled)
        self.assertEqual((status.users, status.roles, status.recoveries), ([], [], 0))
        users = {user.name: user for user in self.admin.access(AccessSubject.USERS).users}
        self.assertEqual((users["bob"].roles, users["bob"].has_password), (["jobs"], True))
        self.assertFalse(users["admin"].has_password)
        (role,) = self.admin.access(AccessSubject.ROLES, name="looker").roles
        (over_jobs,) = [grant for grant in role.grants if grant.prefix == "jobs/"]  # The others are of the whole cluster.
        self.assertFalse(over_jobs.exact)
        self.assertIn("lock.read", over_jobs.rights)
        self.assertNotIn("lock.acquire", over_jobs.rights)
        page = self.admin.access(AccessSubject.USERS, after="admin", limit=1)
        self.assertEqual(([user.name for user in page.users], page.more), (["bob"], True))

    def test_a_refusal_has_its_number_and_changes_nothing(self):
        epoch = self.admin.access().epoch
        change = self.admin.change_access
        self.assert_number(6501, self.admin.access, AccessSubject.USERS, name="nobody")
        self.assert_number(6502, change, AccessAction.USER_ADD, "bob")
        self.assert_number(6512, change, AccessAction.USER_DELETE, "bob", epoch=1)
        self.assert_number(6507, change, AccessAction.ROLE_GRANT, "jobs", grants=[AccessGrant(["no.such.right"])])
        self.assert_number(6560, self.as_user("bob").change_access, AccessAction.USER_DELETE, "eve")
        self.assert_number(1001, change, AccessAction.ROLE_GRANT, "jobs", roles="looker")
        change(AccessAction.USER_DELETE, "bob", dry_run=True)
        self.assertEqual(self.admin.access().epoch, epoch)

    def test_passwords_roles_and_users_go_and_what_they_gave_goes_with_them(self):
        change, word = self.change_access, bytearray(b"the first one of ann")
        change(AccessAction.USER_ADD, "ann", password=word, roles=["jobs"])
        ann = self.as_user("ann", password=word)
        with ann.open_session(ttl=60) as session, session.acquire("jobs/ann"):
            pass
        change(AccessAction.USER_PASSWORD, "ann", password="the second one of ann")
        self.assert_number(6531, connect, user="ann", password=word)
        ann = self.as_user("ann", password="the second one of ann")
        change(AccessAction.USER_REVOKE, "ann", roles=["jobs"])
        self.until_number(6560, ann.get, "jobs/ann")
        change(AccessAction.USER_GRANT, "ann", roles=["looker"])
        self.until_number(6016, ann.get, "jobs/ann")
        change(AccessAction.USER_DISABLE, "ann")
        self.assert_number(6531, connect, user="ann", password="the second one of ann")
        change(AccessAction.USER_DELETE, "ann")
        self.assert_number(6501, self.admin.access, AccessSubject.USERS, name="ann")


class Limiting(TrustTest):
    def test_limits_are_set_listed_and_removed(self):
        change = self.admin.change_limits
        limit = Limit(LimitScope.PRINCIPAL, "bob", rate=1000, burst=2000, sessions=7, session_ttl_max=20.0)
        before = self.admin.limits().epoch
        self.assertEqual(change(LimitsAction.SET, limit=limit).epoch, before + 1)
        self.assertEqual(self.admin.limits().limits, [limit])
        self.assert_number(6586, change, LimitsAction.SET, limit=limit, epoch=before)
        self.assertEqual(change(LimitsAction.REMOVE, limit=limit).limit_count, 0)
        self.assertEqual(self.admin.limits().limits, [])

    def test_who_is_denied_is_cut_off_and_let_in_again(self):
        change = self.change_access
        change(AccessAction.USER_ADD, "mallory", password="a password of mallory's", roles=["looker"])
        denial = Denial(DenialScope.PRINCIPAL, "mallory", "runs wild")
        self.change_limits(LimitsAction.DENY, denial=denial, duration=600)
        (denied,) = self.admin.limits(denials=True).denials
        self.assertEqual((denied.scope, denied.name, denied.reason), (denial.scope, "mallory", "runs wild"))
        with self.assertRaises(gcoord.GcoordError) as refused:
            self.as_user("mallory")
        self.assertEqual(refused.exception.status, gcoord.StatusCode.PERMISSION_DENIED, str(refused.exception))
        self.change_limits(LimitsAction.ALLOW, denial=denial)
        self.assertEqual(self.admin.limits(denials=True).denials, [])
        self.assertEqual(self.as_user("mallory").identity().name, "mallory")


class Keys(TrustTest):
    def test_who_has_the_key_speaks_for_the_session_and_nobody_else(self):
        owner, other = self.as_user("bob"), self.as_user("bob")
        session = owner.open_session(ttl=60)
        lock = session.acquire("jobs/keys")
        key = session.key()
        self.assertTrue(key)
        stranger = other.attach_session(session.id)
        self.assert_number(6541, stranger.acquire, "jobs/other", wait=0)
        self.assert_number(6560, stranger.release, "jobs/keys", lock.fence)  # As breaking it would be.
        self.assert_number(6540, other.attach_session, session.id, key="no key")
        self.assert_number(1114, other.attach_session, session.id, key=bytearray(b"a\0b"))
        other.attach_session(session.id, key=key).release("jobs/keys", lock.fence)
        self.assert_number(6016, owner.get, "jobs/keys")
        key[:] = bytes(len(key))

    def test_a_key_is_handed_on_by_a_descriptor(self):
        owner = self.as_user("bob")
        session = owner.open_session(ttl=60)
        lock = session.acquire("jobs/handed")
        token = owner.identity().token
        ends, words = os.pipe(), os.pipe()
        program = ("import os, sys, gcoord\n"
                   "endpoints, cacert, session, name, fence = sys.argv[1:6]\n"
                   "token, key = (bytearray(os.read(int(each), 4096)) for each in sys.argv[6:8])\n"
                   "with gcoord.Client(endpoints, cacert=cacert, token=token, connect_timeout=60) as client:\n"
                   "    client.attach_session(int(session), key=key).release(name, int(fence))\n")
        for end, secret in ((words[1], token), (ends[1], session.key())):
            os.write(end, secret)
            os.close(end)
        done = subprocess.run([sys.executable, "-c", program, ENDPOINTS, CACERT, str(session.id), "jobs/handed",
                               str(lock.fence), str(words[0]), str(ends[0])], pass_fds=(words[0], ends[0]), check=False,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_number(6016, owner.get, "jobs/handed")


class Hidden(TrustTest):
    def test_a_holder_who_is_hidden_is_no_zero(self):
        bob, eve = self.as_user("bob"), self.as_user("eve")
        watch = eve.watch(prefix="jobs/hidden")
        session = bob.open_session(ttl=60)
        lock = session.acquire("jobs/hidden", note=b"a note of bob's")
        seen, whole = eve.get("jobs/hidden", waiters=True), bob.get("jobs/hidden")
        self.assertTrue(seen.hidden)
        self.assertEqual((seen.holder_session, seen.token, seen.note), (gcoord.HIDDEN_SESSION, 0, b""))
        self.assertFalse(whole.hidden)
        self.assertEqual((whole.holder_session, whole.token), (session.id, lock.fence))
        self.assertTrue(eve.read("jobs/hidden").lock.hidden)
        self.assertTrue(eve.list("jobs/hidden").locks[0].hidden)
        event = watch.next(PATIENCE).events[0]
        self.assertTrue(event.hidden)
        self.assertEqual((event.token, event.value), (0, b""))
        self.assertEqual(eve.holder_origins("jobs/hidden") if self.may_ask(eve) else [], [])
        end = time.monotonic() + PATIENCE
        while not bob.holder_origins("jobs/hidden") and time.monotonic() < end:
            pass  # The note of a session follows its first entry.
        (origin,) = bob.holder_origins("jobs/hidden")
        self.assertEqual((origin.session_id, origin.principal_kind, origin.principal), (session.id, "user", "bob"))
        self.assertEqual(self.admin.session_origins([session.id]), [origin])

    @staticmethod
    def may_ask(client) -> bool:
        try:
            client.holder_origins("jobs/hidden")
            return True
        except gcoord.GcoordError as refused:
            return refused.number != 6560

    def test_an_election_whose_candidates_are_hidden_says_so(self):
        bob, eve = self.as_user("bob"), self.as_user("eve")
        leading, waiting = bob.open_session(ttl=60), bob.open_session(ttl=60)
        stream = eve.observe("jobs/hidden-leader")
        election = leading.election("jobs/hidden-leader")
        election.campaign(value=b"the leader")
        next_one = waiting.election("jobs/hidden-leader").campaign_async(value=b"the next")
        while not eve.candidates("jobs/hidden-leader").candidates:
            pass
        line, whole = eve.candidates("jobs/hidden-leader"), bob.candidates("jobs/hidden-leader")
        self.assertEqual([line.leader.hidden, line.candidates[0].hidden, line.epoch], [True, True, 0])
        self.assertEqual([line.leader.value, line.candidates[0].value], [b"", b""])
        self.assertEqual([whole.leader.hidden, whole.candidates[0].hidden], [False, False])
        self.assertEqual((whole.epoch, whole.candidates[0].session_id), (election.epoch, waiting.id))
        self.assertTrue(eve.leader("jobs/hidden-leader").hidden)
        told = stream.next(PATIENCE)
        self.assertTrue(told.hidden)
        self.assertEqual((told.epoch, told.value), (0, b""))
        stream.close()
        next_one.cancel()

    def test_who_breaks_what_is_hidden_names_the_token(self):
        self.change_access(AccessAction.ROLE_ADD, "breaker", grants=[AccessGrant(["lock.break", "read"], "jobs/")])
        self.change_access(AccessAction.USER_ADD, "carl", password="a password of carl's", roles=["breaker"])
        carl, session = self.as_user("carl"), self.as_user("bob").open_session(ttl=60)
        lock = session.acquire("jobs/broken")
        self.assert_number(6560, carl.break_lock, "jobs/broken", "carl", "a test")
        self.assertTrue(lock.valid)
        carl.break_lock("jobs/broken", "carl", "a test", token=lock.fence)


class Asyncio(TrustTest):
    def test_all_of_it_is_there_for_asyncio(self):
        asyncio.run(asyncio.wait_for(self.all_of_it(), PATIENCE))

    async def all_of_it(self) -> None:
        async with gcoord.aio.Client(ENDPOINTS, cacert=CACERT, cert=CERT, key=KEY, connect_timeout=PATIENCE,
                                     request_timeout=PATIENCE) as admin, \
                gcoord.aio.Client(ENDPOINTS, cacert=CACERT, user="bob", password="a password of bob's",
                                  connect_timeout=PATIENCE, request_timeout=PATIENCE) as bob:
            self.assertEqual(bob.identity().name, "bob")
            await admin.change_access(AccessAction.USER_ADD, "dora", password=bytearray(b"a password of dora's"))
            self.assertEqual([user.name for user in (await admin.access(AccessSubject.USERS, name="dora")).users], ["dora"])
            await admin.change_access(AccessAction.USER_DELETE, "dora")
            limit = Limit(LimitScope.PREFIX, "jobs/aio", rate=5000, burst=5000)
            await admin.change_limits(LimitsAction.SET, limit=limit)
            self.assertIn(limit, (await admin.limits()).limits)
            await admin.change_limits(LimitsAction.REMOVE, limit=limit)
            session = await bob.open_session(ttl=60)
            lock = await session.acquire("jobs/aio")
            while not await bob.holder_origins("jobs/aio"):
                pass  # The note of a session follows its first entry.
            (origin,) = await bob.holder_origins("jobs/aio")
            self.assertEqual((origin.principal, await admin.session_origins([session.id])), ("bob", [origin]))
            await bob.attach_session(session.id, key=session.key()).release("jobs/aio", lock.fence)
            lock.detach()
            await session.close()


INVERTING = bytes(255 - each for each in range(256))


def times_in_memory(inverted: bytes) -> int:
    """How often bytes are in the memory of this process. They are given inverted, and so is what is read here, so that the
    search does not find itself."""
    found = 0
    with open("/proc/self/maps", encoding="ascii") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps.read().splitlines():
            first, end = (int(each, 16) for each in line.split()[0].split("-"))
            if " rw" not in line:
                continue
            held = bytearray(end - first)
            try:
                memory.seek(first)
                memory.readinto(held)
            except (OSError, ValueError, OverflowError):
                continue  # Nothing that a program could have written to.
            read = held.translate(INVERTING)
            held[:] = bytes(len(held))
            found += read.count(inverted)
    return found


class Wiping(TrustTest):
    def test_no_secret_is_left_in_memory_when_its_client_is_gone(self):
        # Made so that no str, and no bytes, ever had them.
        word = bytearray(b"A" * 24)
        for at in range(len(word)):
            word[at] = ord("a") + os.urandom(1)[0] % 26
        hidden_word = bytes(255 - each for each in word)
        self.change_access(AccessAction.USER_ADD, "wanda", password=word, roles=["jobs"])
        client = connect(user="wanda", password=word)
        word[:] = bytes(len(word))
        session = client.open_session(ttl=60)
        session.acquire("jobs/wanda").detach()
        me, key = client.identity(), session.key()
        hidden = {"the password": hidden_word, "the token": bytes(255 - each for each in me.token),
                  "the key": bytes(255 - each for each in key)}
        self.assertGreater(times_in_memory(hidden["the key"]), 0)  # The search finds what is there.
        me.token[:], key[:] = bytes(len(me.token)), bytes(len(key))
        session.close()
        client.close()
        del session, client, me
        for what, inverted in hidden.items():
            self.assertEqual(times_in_memory(inverted), 0, f"{what} is still in memory")


if __name__ == "__main__":
    unittest.main()
