// Checkpoints of logs: the text that a log's signed notes carry (C2SP tlog-checkpoint).
//
//   ORIGIN                       which log this is
//   SIZE                         its leaves, decimal
//   BASE64(root)                 the root of the tree of that size
//   EXTENSION                    none or more lines, not empty
//
// Logs of a cluster and who signs for them have fixed names, below. The text has one spelling.
// Thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"
#include "ledger/notes/signed_note.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

struct CheckpointNote {
  std::string origin;
  std::uint64_t size = 0;
  MerkleHash root{};
  std::vector<std::string> extensions;

  friend bool operator==(const CheckpointNote&, const CheckpointNote&) = default;
};

// "gcoord/7": the log of shard heads. Cluster ids are printed in decimal.
std::string cluster_origin(std::uint64_t cluster_id);

// "gcoord/7/shard/3": the log of one shard's entries.
std::string shard_origin(std::uint64_t cluster_id, std::uint32_t shard);

// "gcoord/7/node/2": the name of a node's key.
std::string node_key_name(std::uint64_t cluster_id, std::uint32_t node_id);

// The text to sign. Origin and extensions are lines: not empty, without control characters.
std::string checkpoint_text(const CheckpointNote& checkpoint);

// kHeadMalformed, with what is wrong.
Result<CheckpointNote> parse_checkpoint_text(std::string_view text);

// What must be so before a checkpoint is believed.
struct CheckpointTrust {
  std::vector<NoteKey> keys;
  std::size_t quorum = 1;  // How many of the keys must have signed.
  std::string origin;      // Of which log.
};

// The checkpoint in a note, believed: the errors of parse_note(), verify_note() and
// parse_checkpoint_text(), and kHeadOrigin if it is of another log.
Result<CheckpointNote> open_checkpoint(std::string_view note, const CheckpointTrust& trust);

}  // namespace gcoord::ledger
