#include "netcore/peers/dropped_stranger.h"

#include "netcore/transport/tls_failure.h"
#include "security/tls/errors.h"

namespace gcoord::netcore {

std::string stranger_text(DropReason reason) {
  switch (reason) {
    case DropReason::Unproven:
    case DropReason::BadProof:
      return "it did not prove that it has the secret of the cluster (GC3125): find out who "
             "reaches "
             "the peer port, and give all nodes the same --cluster-secret";
    case DropReason::OtherSecret:
      return "it has another secret of the cluster (GC3125): give all nodes the same "
             "--cluster-secret";
    case DropReason::GreetingTimeout:
      return "it did not greet in time: find out who reaches the peer port";
    case DropReason::TooManyStrangers:
      return "it did not greet before too many others came: find out who reaches the peer port";
    case DropReason::WrongCluster:
      return "it greets as a node of another cluster: find out who reaches the peer port";
    case DropReason::WrongNode:
      return "it greets as a node that may not come: the answer that it got says why";
    default:
      return "it does not speak as a node does: find out who reaches the peer port";
  }
}

std::string revoked_text() {
  return tls_failure_of({StatusCode::Unauthenticated,
                         "the certificate of the other side is revoked",
                         security::kTlsRevoked})
      .text;
}

}  // namespace gcoord::netcore
