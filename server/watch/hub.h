// The watches of a node's clients: opened, fed with what the node applies, and ended.
//
//   apply -> changes -> ring -> match() -> WatchFanout: encoded once for all of a target
//                          \-> pump(): who lags, or began in the past, from a cursor
//   history -> replay -> what the ring no longer has
//
// What is sent in a pass of the loop is bounded by the pass's budget, and so is all else that many
// watches want at once: progress, and ends of those whose connection is gone, or who missed what a
// snapshot brought. The rest comes with the next passes (docs/adr/0103).
//
// A watch passes through three stages: Replaying (older than the ring), Behind (at a cursor of the
// ring), Live (at its end). Live ones cost nothing until something concerns them. One whose
// connection does not take its bytes falls back to Behind, and is ended when the ring has passed
// it; nobody waits for it. What is sent where is in docs/adr/0040.
//
// While nobody watches, here or at a peer, nothing is recorded and apply() is not looked on at.
// One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/name_hash.h"
#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/budget/pass_budget.h"
#include "server/interfaces/apply_observer.h"
#include "server/watch/fanout.h"
#include "server/watch/judging.h"
#include "server/watch/misses.h"
#include "server/watch/ring.h"
#include "server/watch/watch_arrivals.h"
#include "server/watch/watch_entry.h"
#include "server/watch/watch_filters.h"
#include "server/watch/watch_lineup.h"
#include "server/watch/watch_metrics.h"
#include "server/watch/watch_past.h"
#include "server/watch/watch_register.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// Of a node: some 300 bytes each.
inline constexpr std::size_t kWatchesMax = std::size_t{1} << 20;

// First byte of the peer message "somebody watches here"; session_expiry.h and its neighbours own
// those below 8. Never renumber.
inline constexpr std::byte kWatchNewsKind{32};

// How long a node goes on recording when nobody watches any more.
inline constexpr std::uint64_t kWatchMemoryMs = 60'000;

class WatchHub final : public ApplyObserver {
 public:
  // All outlive it. `applied` is the index of the newest applied entry of a shard; `shard_of` where
  // a name lives.
  struct Environment {
    protocol::ReplySink& replies;
    MetricsRegistry& metrics;
    std::function<LogIndex(ShardId)> applied;
    WatchResidence residence;
    std::function<void(std::span<const std::byte>)> tell_peers;
    WatchReplay::Reader history;  // Empty: nothing older than the ring is served.
    std::function<void()> wake;
    PassBudget& budget;
  };

  WatchHub(const WatchHubOptions& options, Environment parts);
  ~WatchHub() override;

  // WatchOpen, WatchClose, WatchProgress.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // After each turn, a slice of what there is to be done. Whether there is more at once.
  bool advance(std::uint64_t now_ms);

  // About once a second: whether this node hears a majority of the nodes, itself among them.
  void on_sweep(std::uint64_t now_ms, bool connected);

  std::size_t watch_count() const { return register_.size(); }

  // Watches that wait for events made from history.
  std::size_t replaying_count() const { return lineup_.replaying_count(); }

  std::size_t recorded_bytes() const { return ring_.bytes(); }

  // server/interfaces/apply_observer.h
  void before(const locks::LockCpu& locks,
              ShardId shard,
              const locks::LockCommand& command) override;
  void after(const locks::LockCpu& locks,
             ShardId shard,
             const locks::LockCommand& command,
             const locks::LockReply& reply,
             std::span<const locks::LockEvent> events) override;
  void on_entry(ShardId shard, LogIndex index) override;
  void on_installed(ShardId shard) override;
  bool on_peer_message(NodeId from, std::span<const std::byte> message) override;

 private:
  // Why a batch of a replay was not sent to its end: a turn, or a revision whose events no message
  // holds.
  struct ReplayStop {
    FollowTurn turn;
    LogIndex unsendable;  // 0: it is the turn.
  };

  // Whom this node has lost: the majority of the nodes, and clients.
  struct Losses {
    bool connected = true;
    std::uint32_t cut_off_sweeps = 0;
    bool ending_all = false;             // It was cut off.
    bool looking = false;                // For connections that are gone,
    protocol::ConnectionId looked_at{};  // up to this one.
  };

  void record();
  void on_open(protocol::ConnectionId connection,
               const protocol::RequestSlot& request,
               std::span<const std::byte> payload);
  void on_close(protocol::ConnectionId connection, const protocol::RequestSlot& request);
  void on_progress(protocol::ConnectionId connection, const protocol::RequestSlot& request);
  protocol::ErrorCode admit(protocol::ConnectionId connection,
                            const protocol::RequestSlot& request) const;
  void begin(Watch& watch);

  void match();
  void send_slice();
  bool pump_slice();
  void tell_slice();
  void erase_slice();
  void end_missed_slice();
  bool end_if_missed(Watch& watch);
  bool settled_live(Watch& watch);
  void drop_target(WatchTargetState& target);
  void send_progress(Watch& watch);
  bool advance_replays();
  bool advance_replay(Watch& watch);
  std::optional<ReplayStop> send_batch(Watch& watch, WatchReplayJob& job);
  bool pump(Watch& watch, std::size_t& budget);
  std::optional<WatchNotice> gather(Watch& watch,
                                    std::size_t& budget,
                                    std::vector<std::byte>& payload);
  bool catch_up(Watch& watch);
  void end_unsendable(Watch& watch, ShardId shard, LogIndex revision);
  bool jammed(const Watch& watch) const;

  // watch_follow.cc: watches of a name whose lock moves.
  void arrive(Watch& watch, const WatchNotice& told);
  void aim(Watch& watch, const WatchFilter& filter);
  bool follow(Watch& watch, const FollowTurn& turn);
  bool replay_arrival(Watch& watch);
  bool settled(Watch& watch, bool& more);

  void make_live(Watch& watch);
  void end(Watch& watch, protocol::ErrorCode error, LogIndex first = {}, ShardId shard = {});
  void erase(Watch& watch);

  WatchHubOptions options_;
  Environment environment_;
  WatchMetrics metrics_;
  WatchOutlet outlet_;
  WatchFilters filters_;
  WatchEntry entry_;
  WatchRing ring_;
  WatchArrivals arrivals_;
  WatchTargets targets_;
  WatchPast past_;
  WatchRegister register_;
  WatchMisses misses_;
  WatchJudging judging_;
  WatchLineup lineup_;
  WatchFanout fanout_;
  std::uint64_t matched_ = 0;  // Records that are sent or owed to those who are live.
  std::size_t unmatched_bytes_ = 0;
  std::uint64_t now_ms_ = 0;
  std::uint64_t record_until_ms_ = 0;
  Losses losses_;
};

}  // namespace gcoord::server
