// Proof files: what `gcoordctl ledger prove` writes and `verify` reads, as JSON.
//
// An entry's proof says: these bytes are entry INDEX of shard SHARD; the shard's tree of SIZE
// leaves and that ROOT has them (inclusion); the cluster log has this head as leaf LEAF_INDEX
// (inclusion); and this signed note is a checkpoint of that cluster log. A log's growth is two
// signed notes and a consistency proof. proof_check.h says whether it is true. The bytes of an
// entry that its node hides are its stand-in (ledger/tiles/hidden_entry.h), and "decoded" says so:
// the proof is of its hash alone.
//
//   {"format": "gcoord-entry-proof/1", "cluster": "7", "shard": "3",
//    "entry": {"index": "41", "bytes": BASE64, "decoded": {"kind": "acquire", ...}},
//    "shard_head": {"size": "100", "root": HASH, "inclusion": [HASH, ...]},
//    "cluster_log": {"leaf_index": "9", "size": "12", "root": HASH, "inclusion": [HASH, ...]},
//    "checkpoint": NOTE, "digest": HASH}
//
//   {"format": "gcoord-growth-proof/1", "older": NOTE, "newer": NOTE,
//    "consistency": [HASH, ...], "digest": HASH}
//
// An entry of a session may come with the note that says who is behind the session
// (security/audit/note.h), both as above but for format and digest:
//
//   {"format": "gcoord-noted-proof/1", "proof": {...}, "note": {...}, "digest": HASH}
//
// Integers are decimal strings, hashes and bytes base64. Order and white space are free; nothing
// may be missing, added or said twice. The digest is hash_leaf() of the file as print_proof()
// writes it without digest and newline: it finds accidents where nothing else would, and proves
// nothing. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"
#include "server/history/record_text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gcoord::cli {

// The largest entry, its notes and its proofs are well below.
inline constexpr std::size_t kProofFileBytesMax = std::size_t{1} << 20;

using Hashes = std::vector<ledger::MerkleHash>;

struct EntryProof {
  std::uint64_t cluster = 0;
  std::uint32_t shard = 0;

  std::uint64_t index = 0;  // Of the entry's leaf, from 0.
  std::vector<std::byte> entry;
  server::RecordFacts decoded;

  std::uint64_t shard_size = 0;
  ledger::MerkleHash shard_root{};
  Hashes entry_inclusion;

  std::uint64_t leaf_index = 0;  // Of the shard's head in the cluster log.
  std::uint64_t cluster_size = 0;
  ledger::MerkleHash cluster_root{};
  Hashes head_inclusion;

  std::string checkpoint;  // A signed note.
};

struct GrowthProof {
  std::string older;  // Signed notes.
  std::string newer;
  Hashes consistency;
};

struct NotedProof {
  EntryProof entry;
  EntryProof note;  // Of the entry's session.
};

// Whether the proof is of a hidden entry: of its hash, and of nothing that its stand-in says.
bool is_hidden(const EntryProof& proof);

// The sessions whose ends an entry lists: "5" and "6" of "5:1 6:3". They live as long as the facts.
std::vector<std::string_view> listed_ends(const server::RecordFacts& facts);

// Whether the entry of the facts is of the session: that of its request, or one that it ends.
bool is_of_session(const server::RecordFacts& facts, std::string_view session);

// The value of a fact; empty: there is none of that name.
std::string_view fact_of(const server::RecordFacts& facts, std::string_view name);

using ProofFile = std::variant<EntryProof, GrowthProof, NotedProof>;

// One line, ended by a newline.
std::string print_proof(const ProofFile& proof);

struct ReadProof {
  ProofFile proof;
  bool digest_fits = false;
};

// ProofFileOversized, or ProofFileMalformed with the place in the file.
Result<ReadProof> parse_proof_file(std::string_view text);

}  // namespace gcoord::cli
