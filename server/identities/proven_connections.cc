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

template <typename Item>
template <typename Key, typename IsOver>
void ProvenConnections::Kept<Item>::make_room(const Key& key, const IsOver& is_over) {
  if (all.size() < drops_at) {
    return;
  }
  std::erase_if(all, is_over);
  std::ranges::sort(all, {}, key);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  drops_at = std::max(kDropsAt, 2 * all.size());
}

void ProvenConnections::add(protocol::ConnectionId connection) {
  known_.make_room(&protocol::ConnectionId::value, [this](protocol::ConnectionId each) {
    return connections_.identity(each) == nullptr;
  });
  known_.all.push_back(connection);
  const ConnectionIdentity* const identity = connections_.identity(connection);
  if (identity != nullptr && identity->proof.until_s != 0) {
    add_end({.at_s = identity->proof.until_s, .connection = connection});
  }
}

void ProvenConnections::add_end(const End& end) {
  // By rising time, which is a heap of these.
  ends_.make_room(
      [](const End& each) {
        return std::pair{each.at_s, each.connection.value};
      },
      [this](const End& each) {
        const ConnectionIdentity* const identity = connections_.identity(each.connection);
        return identity == nullptr || identity->proof.until_s != each.at_s;
      });
  ends_.all.push_back(end);
  std::push_heap(ends_.all.begin(), ends_.all.end());
}

bool ProvenConnections::end_expired(std::uint64_t now_s) {
  std::vector<End>& ends = ends_.all;
  bool any = false;
  while (!ends.empty() && ends.front().at_s <= now_s) {
    const protocol::ConnectionId connection = ends.front().connection;
    std::pop_heap(ends.begin(), ends.end());
    ends.pop_back();
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
  std::erase_if(known_.all, [&](protocol::ConnectionId each) {
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
