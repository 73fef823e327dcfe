// Finds deadlocks among sessions of the whole cluster and ends one wait of each (L18 of
// docs/reference/services.md).
//
//   leaders: waits of their shards -> one node, every interval
//   that node: circles of waits -> the leaders: is each of these still there, linearizably?
//   all of them are -> the leader of the youngest: end that very wait, through the log
//
// Nobody is told of a circle that was not closed at one moment: every wait and hold is known by
// numbers that never come twice, all of them were there when they were reported, and all of them
// are there when they are confirmed, after the last was reported (deadlock_wait.h). The command
// names the wait by its log index, so one that went meanwhile is left alone. It takes part only who
// said that its session gives nothing back while it waits (protocol::RequestFlag::Blocks).
//
// That node is the elected coordinator where the cluster elects one, and else the one that leads
// shard 0. Nodes may differ for a while in who that is, as long as a cut lasts or for ever where
// they were told to elect differently. So waits that are older than kDeadlockOldIntervals are
// reported to the leader of shard 0 too, of whom there is one at a time, and who is reported to
// looks: every circle comes together in one place. Found in two places it is confirmed by both, and
// the second command to end its wait finds it gone.
//
// Nothing is sent while nobody waits so for half an interval and holds something. Lost messages and
// leaders cost an interval. Messages of peers come from outside: what does not decode is dropped
// and counted. Bounds: kDeadlockWaitsMax waits a node and interval, kDeadlockCasesMax circles at a
// time. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "locks/cpu/lock_cpu.h"
#include "server/deadlocks/graph.h"
#include "server/waits/wait_table.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// The first bytes of this service's messages to peers. Never renumber.
inline constexpr std::byte kDeadlockFirst{96};
inline constexpr std::byte kDeadlockWaits{96};
inline constexpr std::byte kDeadlockConfirm{97};
inline constexpr std::byte kDeadlockConfirmed{98};
inline constexpr std::byte kDeadlockBreak{99};
inline constexpr std::byte kDeadlockLast{99};

// Intervals after which a wait should have been ended if it is part of a circle: two until it is
// found, and as many again for what is lost.
inline constexpr std::uint32_t kDeadlockOldIntervals = 4;

inline constexpr std::uint32_t kDeadlockWaitsMax = 8192;
inline constexpr std::size_t kDeadlockCasesMax = 64;
inline constexpr std::size_t kDeadlocksKept = 32;  // For operators.

struct DeadlockWatchOptions {
  NodeId node;
  std::uint32_t tick_ms = 10;
  std::uint32_t interval_ms = 1000;  // 0: never.
  std::function<std::uint64_t()> wall_ms;
};

class DeadlockWatch {
 public:
  struct Environment {
    std::function<bool(ShardId)> leads;
    std::function<NodeId(ShardId)> leader;
    // The elected coordinator (coordinator_driver.h); 0: none is known here, or none is elected.
    std::function<NodeId()> coordinator;
    std::function<void(NodeId, std::span<const std::byte>)> send;
    // Asks for a confirmation that this node leads; `group` comes back through on_confirmed.
    std::function<void(ShardId, std::uint64_t group)> ask;
    // Proposes to end this very wait.
    std::function<void(const WaitKey&, LogIndex)> end;
    // Searches the graph of all waits, here or on the node's device (device_sweeps.h).
    WaitSearch search;
  };

  DeadlockWatch(const DeadlockWatchOptions& options,
                const locks::LockCpu& locks,
                const WaitTable& waits,
                MetricsRegistry& metrics,
                Environment doors);

  // All nodes of the cluster from now on: what others reported is forgotten.
  void set_nodes(std::span<const NodeId> nodes);

  void on_tick(Tick now, std::uint64_t now_us);
  // kTickNever while there is nothing to look at.
  Tick next_deadline() const;

  static bool is_ours(std::span<const std::byte> message);
  void on_peer_message(NodeId from, std::span<const std::byte> message);

  // One shard of a question was confirmed, or could not be.
  void on_confirmed(std::uint64_t group, ShardId shard, const Status& status);

  // What the client of a wait is told that was ended for a deadlock; empty when it is not known
  // here any more.
  std::string take_text(const WaitKey& key);

  // For operators: JSON.
  std::string report() const;

  // Since this node started.
  struct Counts {
    std::uint64_t found = 0;        // Circles that it asked about.
    std::uint64_t ended = 0;        // Of them, those of which a wait was ended.
    std::uint64_t unconfirmed = 0;  // Of them, those that were not there any more.
    std::uint64_t oversized = 0;    // Too long to be asked about.
  };

  Counts counts() const;

 private:
  // What one node reported last.
  struct Reported {
    std::uint64_t round = 0;
    Tick received;
    std::vector<DeadlockWait> waits;
  };

  // A circle that its leaders are asked about.
  struct Case {
    Deadlock deadlock;
    std::set<std::uint32_t> awaited;  // Nodes.
    Tick opened;
  };

  // A question of another node, or of this one, under way here.
  struct Question {
    NodeId from;
    std::uint64_t number = 0;
    std::vector<std::uint32_t> places;  // In the circle's evidence.
    std::vector<DeadlockWait> waits;
    std::set<std::uint32_t> outstanding;  // Shards.
    bool stands = true;
    Tick opened;
  };

  struct Found {
    std::uint64_t wall_ms = 0;
    std::vector<DeadlockWait> ring;
    std::size_t victim = 0;
  };

  struct Finding {
    std::string text;
    Tick since;
  };

  struct Metrics {
    Counter* reported = nullptr;
    Counter* found = nullptr;
    Counter* ended = nullptr;
    Counter* unconfirmed = nullptr;
    Counter* oversized = nullptr;
    Counter* dropped = nullptr;
  };

  NodeId searcher() const;
  void report_waits(NodeId to, std::span<const DeadlockWait> waits);
  std::vector<DeadlockWait> own_waits(std::uint64_t now_us);
  void search();
  void open_case(Deadlock deadlock);
  bool under_way(const DeadlockWait& victim) const;
  void confirm(Case& opened, std::uint64_t number);
  void conclude(Case& closed);
  void forget_old();
  void send(NodeId to, std::span<const std::byte> message);

  void drop() { metrics_.dropped->add(); }

  void on_waits(NodeId from, ByteReader& reader);
  void on_question(NodeId from, ByteReader& reader);
  void answer(const Question& question);
  void on_answer(NodeId from, ByteReader& reader);
  void on_break(ByteReader& reader);

  std::uint64_t interval_ticks() const;

  DeadlockWatchOptions options_;
  const locks::LockCpu& locks_;
  const WaitTable& waits_;
  Environment environment_;
  Tick now_;
  Tick next_;
  WaitKey look_from_;                           // Where the last look at waits stopped.
  std::map<std::uint32_t, Reported> reported_;  // By node.
  std::map<std::uint64_t, Case> cases_;
  std::map<std::uint64_t, Question> questions_;
  std::uint64_t number_last_ = 0;
  std::map<WaitKey, Finding> findings_;
  std::deque<Found> found_;
  std::deque<std::pair<NodeId, std::vector<std::byte>>> to_self_;
  bool serving_self_ = false;
  Metrics metrics_;
};

}  // namespace gcoord::server
