"""What people and editors see of the package: repr, signatures, version."""

import inspect
import re
import unittest
from pathlib import Path

import gcoord
import gcoord.aio

from cluster import ClusterTest

HOW = ["note", "holds_max", "shared", "permits", "permits_max", "detect_deadlock", "downgrade", "priority", "delay"]


class Objects(ClusterTest):
    def test_repr_says_what_an_object_is_and_whether_it_still_holds(self):
        session = self.session()
        self.assertRegex(repr(self.client), r"^<gcoord\.Client [0-9.:,]+ open>$")
        self.assertEqual(repr(session), f"<gcoord.Session {session.id} ttl=60 alive>")
        with session.acquire("a'b") as lock:
            self.assertEqual(repr(lock), f'<gcoord.Lock "a\'b" fence={lock.fence} valid>')
        self.assertEqual(repr(lock), f'<gcoord.Lock "a\'b" fence={lock.fence} not valid>')
        with session.acquire_all([self.name]) as locks:
            self.assertEqual(repr(locks), f"<gcoord.MultiLock {{{self.name!r}: {locks.fence(self.name)}}} valid>")
        with self.client.take_lease(self.name) as lease:
            self.assertEqual(repr(lease), f"<gcoord.Lease {self.name!r} fence={lease.fence} valid>")
        with session.election(self.name) as election:
            self.assertEqual(repr(election), f"<gcoord.Election {self.name!r} epoch=0 does not lead>")
            election.campaign()
            self.assertEqual(repr(election), f"<gcoord.Election {self.name!r} epoch={election.epoch} leads>")
        with self.client.watch(prefix="p/") as watch:
            self.assertEqual(repr(watch), "<gcoord.Watch of prefix 'p/' open>")
        self.assertEqual(repr(watch), "<gcoord.Watch of prefix 'p/' closed>")
        with self.client.observe(self.name) as leaders:
            self.assertEqual(repr(leaders), f"<gcoord.LeaderStream of {self.name!r} open>")
        session.close()
        self.assertEqual(repr(session), f"<gcoord.Session {session.id} ttl=60 ended>")
        session._handle.free()
        self.assertEqual(repr(session), "<gcoord.Session closed>")
        self.client.close()
        self.assertRegex(repr(self.client), r"^<gcoord\.Client [0-9.:,]+ closed>$")

    def test_signatures_name_every_option(self):
        for owner in (gcoord.Session, gcoord.aio.Session):
            for method in ("acquire", "try_acquire", "acquire_all"):
                options = inspect.signature(getattr(owner, method)).parameters
                self.assertEqual([name for name in options if name in HOW], HOW, f"{owner} {method}")

    def test_every_public_parameter_and_result_has_a_type(self):
        for package in (gcoord, gcoord.aio):
            for name in package.__all__:
                for method, function in inspect.getmembers(getattr(package, name), inspect.isfunction):
                    if method.startswith("_") or "gcoord" not in function.__module__:
                        continue
                    signature = inspect.signature(function)
                    bare = [each for each in list(signature.parameters.values())[1:]
                            if each.annotation is inspect.Parameter.empty]
                    self.assertEqual(bare, [], f"{name}.{method}")
                    self.assertIsNot(signature.return_annotation, inspect.Signature.empty, f"{name}.{method}")

    def test_aio_offers_what_the_package_without_it_does(self):
        for name in ("Client", "Session", "Lock", "MultiLock", "Lease", "Election", "Watch", "LeaderStream", "Group",
                     "GroupViews", "Rendezvous", "RendezvousStates"):
            had = {each for each in dir(getattr(gcoord, name)) if not each.startswith("_") and not each.endswith("_async")}
            has = set(dir(getattr(gcoord.aio, name)))
            # Of what an event loop needs by hand, aio has events() and `async for` instead.
            missing = had - has - {"fileno", "next_event", "next"}
            self.assertEqual(missing, set(), name)

    def test_the_version_is_that_of_the_wheel(self):
        project = Path(gcoord.__file__).parents[1] / "pyproject.toml"
        self.assertEqual(re.search(r'^version = "(.*)"$', project.read_text(), re.M)[1], gcoord.__version__)


if __name__ == "__main__":
    unittest.main()
