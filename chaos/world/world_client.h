// One client of a simulated world: a session, keep-alives to every node, and one operation at a
// time with the product's exactly-once numbers, leader guesses, back-off and lease arithmetic.
//
// Where a lock was moved to another shard it follows; when told to, it moves locks itself.
//
// It does what a program with locks does: takes a lock, writes under its token to a store that
// guards itself, asks whether the token is still good, gives the lock back; now and then it stops
// keeping its session alive, or closes it. Everything it is told goes into the history. Times
// inside are of its own clock. One thread.
#pragma once

#include "chaos/check/operation.h"
#include "chaos/members/client_nodes.h"
#include "chaos/promises/weak_reads.h"
#include "chaos/random/sim_random.h"
#include "chaos/world/cluster_knowledge.h"
#include "chaos/world/session_tally.h"
#include "chaos/world/world_clock.h"
#include "chaos/world/world_options.h"
#include "client/net/backoff.h"
#include "client/records/sequence_window.h"
#include "client/records/session_lease.h"
#include "protocol/error_codes.h"
#include "protocol/request.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::chaos {

// Whom a client talks to; they outlive it.
struct WorldClientEnvironment {
  std::function<void(NodeId to, const protocol::RequestSlot&, std::span<const std::byte> payload)>
      send;
  std::function<void(Operation)> record;
  std::function<void(const WeakRead&)> record_read;
  // A change that was acknowledged at a moment, and where its shard's log has it.
  std::function<void(ShardId, LogIndex, std::uint64_t acknowledged_ns)> record_write;
  // Moments of the history: rising, of this time of the world.
  std::function<std::uint64_t()> moment_ns;
  // A store that refuses tokens below the highest it has seen.
  std::function<bool(const std::string& key, std::uint64_t token)> guarded_write;
  // A node of the cluster, as names of hosts lead to it now.
  std::function<NodeId(std::uint64_t choice)> any_node;
};

class WorldClient {
 public:
  struct Counts {
    std::uint64_t moves = 0;
    std::uint64_t requests = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t quorum_reads = 0;  // Answered, of those that forbade the lease.
    std::uint64_t looks = 0;
    SessionTally sessions;
  };

  WorldClient(const WorldOptions& options, std::uint32_t number, WorldClientEnvironment doors);

  void pass(std::uint64_t now_us);

  void take_reply(NodeId from, const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  // From outside: faults and the plan of the run.
  WorldClock& clock() { return clock_; }

  void set_paused(bool paused);

  bool paused() const { return plan_.paused; }

  // No keep-alive until then.
  void fall_silent(std::uint64_t until_world_us);

  // Everybody wants this key until then.
  void join_herd(const std::string& key, std::uint64_t until_world_us);

  // Until then it also moves locks between shards, whoever has them.
  void move_locks(std::uint64_t until_world_us);

  // Moves that were answered.
  std::uint64_t moves() const { return counts_.moves; }

  // Nothing is begun any more; what is held is checked and given back.
  void begin_end() { end_.begun = true; }

  // Nothing is held and nothing is under way.
  bool ended() const {
    return end_.begun && !operation_ && held_.empty() && end_.checks_left.empty();
  }

  std::uint64_t acknowledged() const { return counts_.acknowledged; }

  const Counts& counts() const { return counts_; }

  bool holds() const { return !held_.empty(); }

  std::string describe() const;

 private:
  struct Held {
    std::string key;
    std::uint64_t token = 0;
    std::uint64_t release_us = 0;
    bool checked = false;
  };

  struct UnderWay {
    protocol::RequestSlot slot;
    std::string payload;
    Operation told;
    NodeId sent_to;
    std::uint64_t request_id = 0;
    std::uint64_t retry_us = 0;
    std::uint64_t deadline_us = 0;
    std::uint32_t attempt = 0;
    std::uint32_t moves_at_once = 0;  // How often it was sent to another shard without a pause.
    bool followed = false;  // The lock had moved, with the place of an earlier try perhaps.
    bool numbered = false;
    std::optional<WeakRead> read;  // Of a LockRead: what is asked.

    // Whether any replica may answer.
    bool weak() const {
      return read && read->consistency != protocol::ReadConsistency::Linearizable &&
             read->consistency != protocol::ReadConsistency::Lease;
    }
  };

  struct KeepAlive {
    NodeId node;
    std::uint64_t sent_us = 0;
  };

  struct Reply {
    NodeId from;
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  // What it is told from outside: faults and the plan of the run.
  struct Plan {
    bool paused = false;
    bool resumed = false;  // Since it passed the last time.
    std::uint64_t silent_until_world_us = 0;
    std::uint64_t herd_until_world_us = 0;
    std::string herd_key;
    std::uint64_t move_until_world_us = 0;
  };

  // The end of the run.
  struct End {
    bool begun = false;
    bool planned = false;
    std::vector<std::pair<std::string, std::uint64_t>> checks_left;
  };

  struct Session {
    std::uint64_t id = 0;
    std::unique_ptr<client::SessionLease> lease;
    std::unordered_map<std::uint32_t, client::SequenceWindow> windows;
    std::uint64_t keep_alive_us = 0;
    std::unordered_map<std::uint64_t, KeepAlive> keep_alives;  // By request id.
  };

  std::uint64_t local_us() const { return clock_.at(now_us_); }

  client::TimePoint local() const { return std::chrono::microseconds{local_us()}; }

  std::uint64_t timeout_us() const { return options_.election_ms() * 500; }

  void open_session();
  void end_session();
  void close_session();
  void look_at_lease();
  void keep_alive();
  void on_keep_alive(const KeepAlive& sent, const Reply& reply);
  void count_acknowledged();
  void begin();
  void begin_acquire();
  void begin_change(protocol::RequestKind kind, const std::string& key, Operation told);
  void begin_check(const std::string& key, std::uint64_t token, TokenState expected);
  void begin_look(const std::string& key, std::uint64_t token, TokenState expected);
  void begin_read(const std::string& key, std::uint64_t token, TokenState expected);
  void begin_release();
  void begin_move();
  void write_guarded(const Held& held);
  void send();
  void retry();
  void follow(ShardId to);
  void on_reply(const Reply& reply);
  void on_failure(const protocol::ReplySlot& slot);
  void on_read(const Reply& reply);
  void complete_read(const protocol::ShardAnswer& shard, protocol::CheckVerdict verdict);
  void complete(Outcome outcome, Reason reason, const protocol::ReplySlot& slot);
  void on_granted(const Operation& told);
  void rest();

  const WorldOptions& options_;
  std::uint32_t number_;
  WorldClientEnvironment environment_;
  SimRandom random_;
  WorldClock clock_;
  std::uint64_t now_us_ = 0;
  Plan plan_;
  End end_;
  Counts counts_;
  Session session_;
  ClusterKnowledge known_;
  ClientNodes nodes_;
  std::vector<Held> held_;                         // At most one.
  std::map<std::string, std::uint64_t> released_;  // The last token given back, by key.
  std::optional<UnderWay> operation_;
  std::uint64_t next_us_ = 0;
  std::vector<Reply> replies_;
  client::TimePoint lease_margin_;
  client::Backoff backoff_;
};

}  // namespace gcoord::chaos
