#include "server/engine_admission.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using netcore::Admission;
using netcore::RefusalCode;

Admission judge(const ledger::PeerIdentity& known, const netcore::PeerIdentity& peer) {
  const std::string name = "node " + std::to_string(peer.node.value);
  if (known.directory_id != peer.directory.value) {
    return {RefusalCode::ReplacedDirectory,
            name +
                " came back with another data directory and may have forgotten its votes; "
                "start it with its old directory, or under a new node id"};
  }
  if (peer.incarnation < known.incarnation) {
    return {RefusalCode::OldIncarnation,
            name + " came back with an old copy of its data directory (incarnation " +
                std::to_string(peer.incarnation.value) + ", known " +
                std::to_string(known.incarnation.value) +
                "); start it with the newest copy, or under a new node id"};
  }
  return {};
}

}  // namespace

netcore::AdmitHook make_admit_hook(ledger::IdentityFile& identity,
                                   std::function<void(const Status&)> on_failure) {
  return [&identity,
          on_failure = std::move(on_failure)](const netcore::PeerIdentity& peer) -> Admission {
    const auto& peers = identity.peers();
    const auto known = std::find_if(peers.begin(), peers.end(), [&](const auto& remembered) {
      return remembered.node == peer.node;
    });
    if (known != peers.end()) {
      if (Admission refusal = judge(*known, peer); !refusal.admitted()) {
        return refusal;
      }
    }
    const Status status =
        identity.remember_peer({peer.node, peer.directory.value, peer.incarnation});
    if (!status.ok()) {
      on_failure(status);
      return {RefusalCode::NotAdmitted, "the node could not remember its peer and stops"};
    }
    return {};
  };
}

}  // namespace gcoord::server
