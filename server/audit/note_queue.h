// Notes on their way into the logs of their shards.
//
// The leader of a note's shard proposes it; any other node sends it there, and again each second
// until the note is seen in the log, which every node has. So an opened session waits for nothing,
// and a note survives a change of leaders. It is given up after kNoteTriesMax, and refused when
// kNotesQueuedMax are under way; both are counted. A note of a session that its shard has already,
// of the same principal, is dropped as it is due. Notes from other nodes are bounded and checked in
// the same way. Nothing is proposed before all nodes have protocol::Feature::Audit.
//
// One thread, the node's loop; times in milliseconds of a clock that only grows.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "protocol/reply_sink.h"
#include "security/audit/note.h"
#include "server/audit/machine.h"
#include "server/interfaces/replicated_log.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::server {

inline constexpr std::size_t kNotesQueuedMax = 65'536;
inline constexpr std::uint32_t kNoteTriesMax = 120;

class NoteQueue {
 public:
  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const AuditMachine& machine;
    MetricsRegistry& metrics;
    std::function<bool()> all_have;  // protocol::Feature::Audit
    std::uint32_t shard_count = 1;
  };

  struct Item {
    ShardId shard;
    protocol::RecordOrigin origin = protocol::RecordOrigin::System;
    std::uint64_t time_ms = 0;  // Unix time, of the record.
    security::AuditNote note;
  };

  explicit NoteQueue(Environment environment);

  // Due at `due_ms`; nothing if a note of that number is under way.
  void add(Item item, std::uint64_t due_ms);

  // The note stands in its log.
  void remove(std::uint64_t number);

  // From another node (SessionNotes messages); bytes that do not decode are dropped.
  void on_message(std::span<const std::byte> message, std::uint64_t now_ms);

  // Proposes and sends what is due.
  void advance(std::uint64_t now_ms);

  // ~0: nothing is under way.
  std::uint64_t until_next_ms(std::uint64_t now_ms) const;

  std::size_t size() const { return items_.size(); }

 private:
  struct Queued {
    Item item;
    std::uint64_t due_ms = 0;
    std::uint32_t tries = 0;
  };

  using Messages = std::map<NodeId, std::vector<std::byte>>;

  bool is_noted(const Item& item) const;
  void try_one(std::uint64_t number, std::uint64_t now_ms, Messages& messages);
  void propose(const Item& item);
  void set_due(std::uint64_t number, Queued& queued, std::uint64_t due_ms);

  Environment env_;
  std::unordered_map<std::uint64_t, Queued> items_;        // By number.
  std::set<std::pair<std::uint64_t, std::uint64_t>> due_;  // Time and number.
  std::uint32_t proposals_ = 0;
  Counter& proposed_;
  Counter& sent_;
  Counter& dropped_;
  Gauge& queued_;
};

}  // namespace gcoord::server
