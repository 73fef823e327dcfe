#include "server/identities/proven_connections.h"

#include <algorithm>
#include <utility>

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

void ProvenConnections::drop_gone() {
  std::ranges::sort(known_, {}, &protocol::ConnectionId::value);
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
  std::erase_if(known_, [this](protocol::ConnectionId each) {
    return connections_.identity(each) == nullptr;
  });
  drops_at_ = std::max(kDropsAt, 2 * known_.size());
}

void ProvenConnections::add(protocol::ConnectionId connection) {
  if (known_.size() >= drops_at_) {
    drop_gone();
  }
  known_.push_back(connection);
  const ConnectionIdentity* const identity = connections_.identity(connection);
  if (identity != nullptr && identity->proof.until_s != 0) {
    add_end({.at_s = identity->proof.until_s, .connection = connection});
  }
}

void ProvenConnections::add_end(const End& end) {
  if (ends_.size() >= drops_ends_at_) {
    std::erase_if(ends_, [this](const End& each) {
      const ConnectionIdentity* const identity = connections_.identity(each.connection);
      return identity == nullptr || identity->proof.until_s != each.at_s;
    });
    // By rising time, which is a heap of these.
    std::ranges::sort(ends_, {}, [](const End& each) {
      return std::pair{each.at_s, each.connection.value};
    });
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    drops_ends_at_ = std::max(kDropsAt, 2 * ends_.size());
  }
  ends_.push_back(end);
  std::push_heap(ends_.begin(), ends_.end());
}

bool ProvenConnections::end_expired(std::uint64_t now_s) {
  bool any = false;
  while (!ends_.empty() && ends_.front().at_s <= now_s) {
    const protocol::ConnectionId connection = ends_.front().connection;
    std::pop_heap(ends_.begin(), ends_.end());
    ends_.pop_back();
    ConnectionIdentity* const identity = connections_.identity(connection);
    if (identity != nullptr && identity->proof.until_s != 0 && identity->proof.until_s <= now_s) {
      identity->proof.until_s = 0;  // Its end is here: another entry of it says nothing more.
      any = true;
      cut_(connection, ProofEnd::Expired);
    }
  }
  return any;
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
    cut_(each, ProofEnd::Revoked);
  }
  return !ended.empty();
}

}  // namespace gcoord::server
