// Evidence of a double vote: two statements that one node signed, for two candidates in one term.
//
// A node that keeps to Raft never makes two such statements in one life, whatever fails: a vote is
// durable before it leaves, and without a disk it holds for the life of the process. Statements of
// two lives are no evidence: a lost or restored directory looks the same (docs/adr/0153).
//
// As text, one spelling, so that people read it and no byte of it can be changed unseen:
//
//   gcoord evidence of two votes 1
//   cluster 7
//   voter 3
//   life 16777217
//   shard 0
//   term 5
//   candidates 1 2
//   key NAME+HASH+BASE64         of the voter, as a verifier key (ledger/notes/note_key.h)
//   statement BASE64             statement.h, for the first candidate
//   statement BASE64             for the second one
//
// The lower candidate comes first. Hostile text is bounded before it is decoded. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/notes/note_key.h"
#include "server/evidence/statement.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

inline constexpr std::size_t kDoubleVoteTextMax = 48 << 10;

// What evidence shows.
struct DoubleVote {
  ClusterId cluster;
  NodeId voter;
  Incarnation life;
  VoteGrant of;
  std::array<NodeId, 2> candidates;  // Ascending.

  friend bool operator==(const DoubleVote&, const DoubleVote&) = default;
};

// A name for it, good for a file: "votes-node-3-life-16777217-shard-0-term-5".
std::string name_of(const DoubleVote& shown);

struct VoteEvidence {
  DoubleVote shown;
  ledger::NoteKey key;
  std::array<std::vector<std::byte>, 2> statements;  // In the order of the candidates.
};

// Two signed statements, in any order. EvidenceUnproven if they are no
// statements, do not contradict each other about `of`, are of two clusters, voters or lives, or are
// not signed by the key.
Result<VoteEvidence> judge_votes(const std::array<std::span<const std::byte>, 2>& statements,
                                 const VoteGrant& of,
                                 const ledger::NoteKey& key);

std::string print_evidence(const VoteEvidence& evidence);

// Evidence that judge_votes() has judged anew, with the key in the text. Whose key that is, the
// reader has to know. EvidenceMalformed; as judge_votes().
Result<VoteEvidence> parse_evidence(std::string_view text);

}  // namespace gcoord::server
