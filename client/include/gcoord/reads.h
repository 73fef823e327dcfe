// Reads that say how fresh their answer must be, and what the answers show.
//
// Client::get and check are linearizable and ask a shard's leader. These ask what else there is:
// any replica may answer, from what it has applied, within what the caller allows. Every answer
// names the log index that it shows, which is a position to go on from. Plain values; no thread
// rules.
//
//  auto read = client.read("jobs/train", {.consistency = Consistency::Bounded, .max_staleness =
//  50ms}); if (read.ok() && read.value().lock) { show(*read.value().lock, read.value().at); }
#pragma once

#include "gcoord/types.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::client {

// Freshness that a read must have, from the strictest to the loosest but for the last. A
// Linearizable read costs a round of messages between nodes, the others none. A node that cannot
// keep its word in time refuses with the number that stands beside it: ask another one, or allow
// more. Never renumber.
enum class Consistency : std::uint8_t {
  Linearizable = 1,  // All that was acknowledged before; a quorum confirms it, no clock is trusted.
  Lease = 2,         // The same while clocks keep their margin; costs no message.
  Serializable = 3,  // Some state of the past, of any node; see Freshness::age.
  Bounded = 4,       // All that was acknowledged longer than max_staleness ago; else GC6304.
  Monotonic = 5,  // All that this client has written and read, and all up to `after`; else GC6305.
};

// A position in one shard's log, for ReadOptions::after and Client::read_at. Indices only rise, and
// name the same entry on every node; those of two shards cannot be compared. An answer that shows a
// position shows every entry up to it.
struct Position {
  std::uint32_t shard = 0;
  std::uint64_t index = 0;

  bool operator==(const Position&) const = default;
};

// Options of the reads of Client: read, read_check, read_batch, read_check_batch and read_list.
struct ReadOptions {
  Consistency consistency = Consistency::Lease;
  std::chrono::milliseconds max_staleness{0};  // Of Bounded.
  std::vector<Position> after{};               // Of Monotonic, beside the client's own.
  // Which node to ask; 0: any, or the leader where only that one may answer.
  std::uint32_t node_id = 0;
};

// Freshness of an answer for one shard, by the clock of the node that answered, when it did.
struct Freshness {
  std::uint32_t shard = 0;
  std::uint64_t index = 0;  // The answer shows everything up to here.
  // Everything that was acknowledged longer ago is in it; none: the node does not know.
  std::optional<std::chrono::milliseconds> age;
};

// A lock and the position that the answer shows (Client::read and read_at).
struct LockReading {
  std::optional<LockDescription> lock;  // None: it is neither held nor waited for.
  Freshness at;
};

// The verdict about a fencing token and the position that it shows (Client::read_check).
struct VerdictReading {
  Verdict verdict = Verdict::Free;
  Freshness at;
};

// Answers of a batch in the order of its names, with the freshness of each shard of the names,
// once.
template <typename T>
struct BatchReading {
  std::vector<T> answers;
  std::vector<Freshness> shards;
};

// A page of the locks of one node, whether it leads their shards or not (Client::read_list).
struct ReadPage {
  LockPage page;
  std::uint32_t node_id = 0;      // That answered; its cursor means nothing to others.
  std::vector<Freshness> shards;  // Of the locks on the page.
};

}  // namespace gcoord::client
