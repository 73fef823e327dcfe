"""pip spiffe as a workload: it fetches SVIDs by the Workload API, checks them, and keeps files for programs that want files.

Usage: spiffe_workload.py fetch CERT KEY CA OUT   serve the pair by the Workload API, fetch it by spiffe's X509Source, and write
                                                  OUT.crt, OUT.key and OUT.bundle with spiffe; prints the SPIFFE id
       spiffe_workload.py check CERT KEY          print the SPIFFE id, or why spiffe takes it for no SVID (exit code 1)

The API is served by a few lines of this file over spiffe's own messages, as SPIRE's agent is not in Debian.
"""

import concurrent.futures
import sys
import tempfile
from pathlib import Path

import grpc
from cryptography.hazmat.primitives.serialization import Encoding
from spiffe import TrustDomain, X509Bundle, X509Source, X509Svid
from spiffe._proto import workload_pb2, workload_pb2_grpc
from spiffe.errors import PySpiffeError


class Agent(workload_pb2_grpc.SpiffeWorkloadAPIServicer):
    """Serves one SVID, and keeps the stream open as an agent does."""

    def __init__(self, svid: X509Svid, bundle: X509Bundle, key: bytes):
        leaf = b"".join(each.public_bytes(Encoding.DER) for each in svid.cert_chain)
        authorities = b"".join(each.public_bytes(Encoding.DER) for each in bundle.x509_authorities)
        self.message = workload_pb2.X509SVIDResponse(svids=[workload_pb2.X509SVID(
            spiffe_id=str(svid.spiffe_id), x509_svid=leaf, x509_svid_key=key, bundle=authorities)])

    def FetchX509SVID(self, _request, context):
        if dict(context.invocation_metadata()).get("workload.spiffe.io") != "true":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the metadata that the API demands is missing")
        yield self.message


def der_of(svid: X509Svid, folder: str) -> bytes:
    svid.save(f"{folder}/svid.der", f"{folder}/key.der", Encoding.DER)
    return Path(f"{folder}/key.der").read_bytes()


def fetch(certificate: str, key: str, authority: str, out: str) -> None:
    svid = X509Svid.load(certificate, key, Encoding.PEM)
    bundle = X509Bundle.load(svid.spiffe_id.trust_domain, authority, Encoding.PEM)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        workload_pb2_grpc.add_SpiffeWorkloadAPIServicer_to_server(Agent(svid, bundle, der_of(svid, folder)), server)
        address = f"unix:{folder}/agent.sock"
        server.add_insecure_port(address)
        server.start()
        try:
            with X509Source(socket_path=address, timeout_in_seconds=60) as source:
                fetched = source.get_x509_context().default_svid
                trusted = source.get_bundle_for_trust_domain(TrustDomain(fetched.spiffe_id.trust_domain.name))
                fetched.save(f"{out}.crt", f"{out}.key", Encoding.PEM)
                trusted.save(f"{out}.bundle", Encoding.PEM)
                print(fetched.spiffe_id)
        finally:
            server.stop(0).wait()


if __name__ == "__main__":
    if sys.argv[1] == "fetch":
        fetch(*sys.argv[2:])
    else:
        try:
            print(X509Svid.load(sys.argv[2], sys.argv[3], Encoding.PEM).spiffe_id)
        except PySpiffeError as refused:
            sys.exit(str(refused))
