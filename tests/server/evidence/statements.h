// Keys and statements for tests of signed votes.
#pragma once

#include "ledger/notes/checkpoint_note.h"
#include "server/evidence/message.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::server {

inline constexpr ClusterId kVoteCluster{77};

// The key of a node; another one for another `number`.
inline ledger::NoteSigner signer_of(NodeId node, std::uint8_t number = 1) {
  ledger::NoteSeed seed;
  seed.fill(std::byte{number});
  seed[0] = static_cast<std::byte>(node.value);
  return ledger::NoteSigner::make(ledger::node_key_name(kVoteCluster.value, node.value), seed)
      .value();
}

inline VoteStatement statement_of(NodeId voter, NodeId candidate, std::vector<VoteGrant> grants) {
  return {.cluster = kVoteCluster,
          .voter = voter,
          .life = Incarnation{5},
          .candidate = candidate,
          .grants = std::move(grants)};
}

// Signed by the voter's key.
inline std::vector<std::byte> signed_by_voter(const VoteStatement& statement) {
  return sign_statement(statement, signer_of(statement.voter));
}

inline VoteGrant vote(std::uint32_t shard, std::uint64_t term) {
  return {ShardId{shard}, Term{term}};
}

}  // namespace gcoord::server
