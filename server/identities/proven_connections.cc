#include "server/identities/proven_connections.h"

#include <algorithm>

namespace gcoord::server {

bool proof_holds(const UserDirectory& users, std::string_view user, std::uint64_t roles_epoch) {
  const auto known = users.find(user);
  return known && !known->disabled && known->changed <= roles_epoch;
}

bool ProvenConnections::has_ended(const ConnectionIdentity& identity) const {
  const bool by_user = identity.proof.kind == protocol::ProofKind::Password ||
                       identity.proof.kind == protocol::ProofKind::Token;
  return by_user && !proof_holds(users_, identity.principal.name, identity.proof.roles_epoch);
}

void ProvenConnections::add(protocol::ConnectionId connection) {
  if (known_.size() >= drops_at_) {
    std::ranges::sort(known_, {}, &protocol::ConnectionId::value);
    const auto repeated = std::ranges::unique(known_);
    known_.erase(repeated.begin(), repeated.end());
    std::erase_if(known_, [this](protocol::ConnectionId each) {
      return connections_.identity(each) == nullptr;
    });
    drops_at_ = std::max(kDropsAt, 2 * known_.size());
  }
  known_.push_back(connection);
}

bool ProvenConnections::end_outdated() {
  if (users_.epoch() == epoch_) {
    return false;
  }
  epoch_ = users_.epoch();
  std::vector<protocol::ConnectionId> ended;
  std::erase_if(known_, [&](protocol::ConnectionId each) {
    ConnectionIdentity* const identity = connections_.identity(each);
    if (identity == nullptr || !has_ended(*identity)) {
      return identity == nullptr;
    }
    identity->principal = {};
    identity->proof = {};
    ended.push_back(each);
    return true;
  });
  for (const protocol::ConnectionId each : ended) {
    cut_(each);
  }
  return !ended.empty();
}

}  // namespace gcoord::server
