// The engine's counters, registered once. Labels are a kind or a reason, never a shard.
#pragma once

#include "common/host/metrics.h"
#include "consensus/step/message.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace gcoord::server {

// Why something was dropped. Dropping is always safe: the sender emits again what still matters.
enum class ReplicaDrop : std::uint8_t {
  BadMessage,    // A peer sent a message that cannot be.
  BadEntries,    // The entries beside an Append are not what it announces.
  BadChunk,      // A chunk of a snapshot that cannot be, or fails its checksum.
  StrayChunk,    // A chunk that does not continue what was received: out of order, repeated.
  BandUnknown,   // A band that the engine does not use.
  Implausible,   // The step refused a message.
  NoCredit,      // Own messages that the channel did not take.
  SnapshotBusy,  // A snapshot that waits for its turn or for credit.
  EntryGone,     // An Append whose entries were compacted since it was emitted.
  Overrun,       // A message that found the queue full: this node cannot keep up.
};

inline constexpr std::size_t kEngineDropCount = 10;

struct ReplicaMetrics {
  explicit ReplicaMetrics(MetricsRegistry& registry);

  Counter& dropped(ReplicaDrop reason) { return *drops[static_cast<std::size_t>(reason)]; }

  Counter& turns;
  Counter& steps;
  Counter& settled;
  Counter& stepped_us;
  Gauge& active_rows;
  Counter& entries_applied;
  Counter& proposals;
  Counter& proposals_failed;
  Counter& reads_leased;
  Counter& reads_confirmed;
  Counter& reads_failed;
  Counter& elections;
  Counter& leaderships_lost;
  Gauge& leaders;
  Gauge& entry_bytes;
  Counter& checkpoints;
  Counter& checkpoints_failed;
  Counter& checkpoint_shards;
  Counter& snapshots_sent;
  Counter& snapshots_installed;
  Counter& loop_gaps;
  Counter& removed_refusals;
  Histogram& turn_time;
  std::array<Counter*, consensus::kMessageKindLast + 1> messages_in{};
  std::array<Counter*, consensus::kMessageKindLast + 1> messages_out{};
  std::array<Counter*, kEngineDropCount> drops{};
};

}  // namespace gcoord::server
