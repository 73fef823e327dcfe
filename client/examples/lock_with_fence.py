"""A lock, its fencing token, and an election, from Python. The cluster is what GCOORD_ENDPOINTS names."""

import os

import gcoord


def main() -> None:
    with gcoord.Client(os.environ.get("GCOORD_ENDPOINTS", "127.0.0.1:7400")) as client:
        with client.open_session(ttl=10) as session:
            with session.acquire("examples/python") as lock:
                token = lock.fence
                assert client.check("examples/python", token) is gcoord.Verdict.VALID
            assert client.check("examples/python", token) is not gcoord.Verdict.VALID

            with session.election("examples/python-chief") as election:
                election.campaign()
                assert election.is_leader()
                assert client.leader("examples/python-chief").epoch == election.epoch
    print(f"token {token}: valid while held, of the past after it")


if __name__ == "__main__":
    main()
