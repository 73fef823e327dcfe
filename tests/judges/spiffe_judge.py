"""Nodes and users whose certificates are X.509-SVIDs; pip's spiffe fetches them by the Workload API and says whether they are ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

from python_packages import FOLDER as PACKAGES, python_packages
from secured_nodes import NODES, Cluster, Lab, with_nodes

SUMMARY = "three nodes and their users with X.509-SVIDs that pip's spiffe accepts, fetches by the Workload API and stores"
WORKLOAD = Path(__file__).resolve().parent / "stacks" / "spiffe_workload.py"
ID = "spiffe://example.org/ci/runner"
OTHER_ID = "spiffe://example.org/ci/visitor"


def spiffe(*words: str) -> tuple:
    """(whether it went well, what was said)"""
    done = subprocess.run([sys.executable, str(WORKLOAD), *words], env=dict(os.environ, PYTHONPATH=str(PACKAGES)), capture_output=True,
                          text=True, check=False, timeout=180)
    return done.returncode == 0, (done.stdout + done.stderr).strip()


def files(lab: Lab, name: str) -> tuple:
    return str(lab.path(f"{name}.crt")), str(lab.path(f"{name}.key"))


def node_id(lab: Lab, node: int) -> str:
    return f"spiffe://example.org/gcoord/{lab.cluster_id}/node/{node}"


def prepare(lab: Lab) -> None:
    """The nodes' certificates name them as SPIFFE ids and in no other way."""
    for node in NODES:
        lab.sign(f"node-{node}", f"URI:{node_id(lab, node)},DNS:localhost,IP:127.0.0.1", "serverAuth, clientAuth")
    lab.sign("runner", f"URI:{ID}")
    lab.sign("visitor", f"URI:{OTHER_ID}")
    lab.sign("foreign", f"URI:{ID}", authority="other")
    lab.sign("two", f"URI:{ID},URI:{OTHER_ID}")
    lab.sign("elsewhere", "URI:spiffe://example.org/gcoord/1/node/1", "serverAuth, clientAuth")


def check_svids(lab: Lab, verdict) -> None:
    for node in NODES:
        good, said = spiffe("check", *files(lab, f"node-{node}"))
        verdict.expect(f"the certificate of node {node} is an SVID to spiffe", good and said == node_id(lab, node), said)
    good, said = spiffe("check", *files(lab, "admin"))
    verdict.expect("a user's certificate by gcoordctl is none, because its URI is gcoord://...", not good and "SPIFFE ID" in said, said)
    good, said = spiffe("check", *files(lab, "two"))
    verdict.expect("one with two ids is none (control)", not good, said)
    for name, wanted in (("runner", ID), ("visitor", OTHER_ID)):
        good, said = spiffe("fetch", *files(lab, name), str(lab.path("ca.crt")), str(lab.path(f"{name}-svid")))
        verdict.expect(f"spiffe fetches the SVID of '{name}' by the Workload API and stores it", good and said == wanted, said)


def check_principals(lab: Lab, cluster: Cluster, verdict) -> None:
    def ctl(user: str, *words: str) -> tuple:
        done = cluster.ctl_raw("--endpoints", cluster.endpoints(), "--timeout", "60s", *words, user=user)
        return done.returncode, done.stdout + done.stderr

    def who(user: str) -> dict:
        said = ctl(user, "whoami")[1]
        try:
            return json.loads(said)
        except json.JSONDecodeError:
            return {"said": said}

    said = cluster.ctl("status")
    verdict.expect("the nodes believe each other's SVIDs", len(said.get("nodes", [])) == len(NODES)
                   and all(node.get("health", {}).get("ready") for node in said["nodes"]), json.dumps(said)[:1000])
    seen = who("runner-svid")
    verdict.expect("the node sees the SPIFFE id of the stored SVID", (seen.get("kind"), seen.get("name")) == ("certificate", ID), str(seen))
    seen = who("elsewhere")
    verdict.expect("an SVID of another cluster's node is nobody", seen.get("kind") == "anonymous", str(seen))
    code, said = ctl("foreign", "whoami")
    verdict.expect("the same id by another CA is refused (GC6737)", code != 0 and "GC6737" in said, said)
    bundle = cluster.ctl_raw("--endpoints", cluster.endpoints(), "--cacert", str(lab.path("runner-svid.bundle")), "whoami", user="")
    verdict.expect("gcoordctl believes the nodes by the bundle that spiffe stored", bundle.returncode == 0, bundle.stdout + bundle.stderr)
    cluster.check_rights()
    cluster.must("role", "add", "jobs", "write", "read", "--prefix", "jobs/")
    for user, name, code_wanted in (("runner-svid", "jobs/a", 4), ("visitor-svid", "jobs/a", 4)):
        code, said = ctl(user, "lock", "acquire", name, "--ttl", "10m")
        verdict.expect(f"'{user}' has no right yet (exit code 4)", code == code_wanted, said)
    cluster.must("user", "add", ID, "--role", "jobs", "--no-password")
    for user, name, code_wanted in (("runner-svid", "jobs/a", 0), ("runner-svid", "other/a", 4), ("visitor-svid", "jobs/b", 4)):
        code, said = ctl(user, "lock", "acquire", name, "--ttl", "10m")
        verdict.expect(f"'{user}' acquires {name}: exit code {code_wanted}", code == code_wanted, said)


def judge(programs: Path, verdict) -> None:
    if not python_packages(verdict, "spiffe==0.3.2"):
        return

    def checks(lab: Lab, cluster: Cluster) -> None:
        check_svids(lab, verdict)
        check_principals(lab, cluster, verdict)

    with_nodes(programs, checks, prepare)
