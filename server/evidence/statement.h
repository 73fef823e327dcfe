// Statement of a node about votes that it has granted to one candidate, with its signature.
//
//   statement  u8 version = 1, u8 algorithm = 1 (Ed25519), u16 count, u64 cluster, u32 voter,
//              u32 life of the voter, u32 candidate, count x {u32 shard, u64 term},
//              64 bytes of signature; little-endian, never to be renumbered
//   signature  over "gcoord vote grants 1\n" and the statement without its signature
//
// One statement covers all votes of one send to a peer, so an election of all shards at once costs
// a signature per thousand votes. The key is the one by which the node signs the ledger
// (ledger/cluster/node_key_file.h); no head of the ledger begins with that line, so neither
// signature is good for the other. Statements come from outside: what does not decode is none.
// Pure; thread-safe.
#pragma once

#include "common/ids.h"
#include "ledger/notes/note_key.h"
#include "server/interfaces/vote_observer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// As many votes as a peer is sent at once.
inline constexpr std::size_t kStatementGrantsMax = 1024;
inline constexpr std::size_t kStatementHeadBytes = 24;
inline constexpr std::size_t kStatementGrantBytes = 12;
inline constexpr std::size_t kStatementBytesMax =
    kStatementHeadBytes + kStatementGrantsMax * kStatementGrantBytes + ledger::kNoteSignatureBytes;

struct VoteStatement {
  ClusterId cluster;
  NodeId voter;
  Incarnation life;
  NodeId candidate;
  std::vector<VoteGrant> grants;

  // Whether the vote of this shard in this term is among them.
  bool grants_vote(const VoteGrant& of) const;

  friend bool operator==(const VoteStatement&, const VoteStatement&) = default;
};

// With its signature; 1 to kStatementGrantsMax grants.
std::vector<std::byte> sign_statement(const VoteStatement& statement,
                                      const ledger::NoteSigner& signer);

// Nothing for bytes that are no statement: another length, version or algorithm, no grants, a node
// or term 0, a voter that votes for itself.
std::optional<VoteStatement> decode_statement(std::span<const std::byte> bytes);

// Whether the key made the signature of these bytes, which decode.
bool statement_genuine(std::span<const std::byte> bytes, const ledger::NoteKey& key);

}  // namespace gcoord::server
