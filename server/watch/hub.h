// The watches of a node's clients: opened, fed with what the node applies, and ended.
//
//   apply -> changes -> ring -> deliver(): at the end of a turn, once encoded for all of a target
//                          \-> pump(): who lags, or began in the past, from a cursor
//   history -> replay -> what the ring no longer has
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
#include "server/interfaces/apply_observer.h"
#include "server/watch/changes.h"
#include "server/watch/replay.h"
#include "server/watch/ring.h"
#include "server/watch/target.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gcoord::server {

// Of a node: some 300 bytes each.
inline constexpr std::size_t kWatchesMax = std::size_t{1} << 20;

// First byte of the peer message "somebody watches here"; session_expiry.h and its neighbours own
// those below 8. Never renumber.
inline constexpr std::byte kWatchNewsKind{32};

// How long a node goes on recording when nobody watches any more.
inline constexpr std::uint64_t kWatchMemoryMs = 60'000;

enum class WatchStage : std::uint8_t { Replaying, Behind, Live };

struct Watch {
  std::uint64_t number = 0;
  protocol::ConnectionId connection;
  protocol::RequestSlot request;  // Its WatchOpen.
  WatchTargetState* target = nullptr;
  WatchStage stage = WatchStage::Behind;
  std::uint64_t cursor = 0;     // Of the record to be sent next; of no use while Live.
  std::uint64_t opened_at = 0;  // The ring's end then: before it only what `from` names is sent.
  std::map<std::uint32_t, std::uint64_t> from;          // By shard, as long as it matters.
  std::deque<std::shared_ptr<WatchReplayJob>> replays;  // The first one is under way.
  std::uint32_t move_number = 0;  // Of one that follows: the newest move it came by; 0: none.
  bool progress_wanted = false;
  std::uint32_t progress_ms = 0;
  std::uint64_t progress_at_ms = 0;
  std::size_t place = 0;  // In its target's `live`, or in the desk's list of the others.
};

struct WatchHubOptions {
  std::uint32_t shard_count = 1;
  std::size_t ring_bytes_max = std::size_t{64} << 20;
  std::size_t backlog_bytes_max = std::size_t{256} << 20;  // Of all connections together.
  std::size_t backlog_each_max = std::size_t{1} << 20;
  std::size_t backlog_each_min = std::size_t{64} << 10;
  std::size_t replays_max = 8;  // Machines at once.
};

class WatchHub final : public ApplyObserver {
 public:
  // All outlive it. `applied` is the index of the newest applied entry of a shard; `shard_of` where
  // a name lives.
  struct Environment {
    protocol::ReplySink& replies;
    MetricsRegistry& metrics;
    std::function<LogIndex(ShardId)> applied;
    // Where the lock of a moved name is, as the shard knows it.
    std::function<std::optional<locks::NameResidence>(ShardId, NameHash)> residence;
    std::function<void(std::span<const std::byte>)> tell_peers;
    WatchReplay::Reader history;  // Empty: nothing older than the ring is served.
    std::function<void()> wake;
  };

  WatchHub(const WatchHubOptions& options, Environment parts);
  ~WatchHub() override;

  // WatchOpen, WatchClose, WatchProgress.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // After each turn. Whether there is more to be done at once.
  bool advance(std::uint64_t now_ms);

  // About once a second: whether this node hears a majority of the nodes, itself among them.
  void on_sweep(std::uint64_t now_ms, bool connected);

  std::size_t watch_count() const { return watches_.size(); }

  // Watches that wait for events made from history.
  std::size_t replaying_count() const;

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
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // Connection, request id.

  // Where a watch that follows its name begins, and the move that it awaits there, if any.
  struct FollowPosition {
    ShardId shard;
    std::uint32_t move_number = 0;
    std::uint32_t arrival = 0;
  };

  // Where one goes on: in the shard that a move brings the lock to.
  struct FollowTurn {
    ShardId shard;
    std::uint32_t number = 0;
  };

  // Why a batch of a replay was not sent to its end: a turn, or a revision whose events no message
  // holds.
  struct ReplayStop {
    FollowTurn turn;
    LogIndex unsendable;  // 0: it is the turn.
  };

  // A name, and the number of a move.
  struct ArrivalKey {
    NameHash name;
    std::uint32_t number = 0;

    bool operator<(const ArrivalKey& other) const {
      return std::tie(name.high, name.low, number) <
             std::tie(other.name.high, other.name.low, other.number);
    }
  };

  // Where in the ring the lock came.
  struct Arrival {
    ShardId shard;
    std::uint64_t cursor = 0;
  };

  struct Metrics {
    Gauge* watches = nullptr;
    Gauge* ring_bytes = nullptr;
    Counter* events = nullptr;
    Counter* messages = nullptr;
    Counter* bytes = nullptr;
    Counter* lagging = nullptr;
    Counter* unsendable = nullptr;
    Counter* replays = nullptr;
  };

  void record();
  void on_open(protocol::ConnectionId connection,
               const protocol::RequestSlot& request,
               std::span<const std::byte> payload);
  void on_close(protocol::ConnectionId connection, const protocol::RequestSlot& request);
  void on_progress(protocol::ConnectionId connection, const protocol::RequestSlot& request);
  protocol::ErrorCode admit(protocol::ConnectionId connection,
                            const protocol::RequestSlot& request) const;
  protocol::ErrorCode make_filter(const protocol::RequestSlot& request,
                                  const protocol::WatchQuery& query,
                                  WatchFilter& filter) const;
  bool plan_replays(Watch& watch, protocol::ReplySlot& refusal);
  std::shared_ptr<WatchReplayJob> make_replay(const Watch& watch, ShardId shard, LogIndex from);
  void begin(Watch& watch);
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              protocol::ErrorCode error);
  Watch* find(protocol::ConnectionId connection, std::uint64_t request_id);

  void deliver();
  void send_payload(WatchTargetState& target);
  void send(Watch& watch, std::span<const std::byte> payload);
  void send_progress(Watch& watch);
  bool advance_replays();
  bool advance_replay(Watch& watch);
  std::optional<ReplayStop> send_batch(Watch& watch, WatchReplayJob& job);
  bool pump(Watch& watch, std::size_t& budget);
  std::optional<WatchNotice> gather(Watch& watch,
                                    std::size_t& budget,
                                    std::vector<std::byte>& payload);
  bool catch_up(Watch& watch);
  void add_told(WatchTargetState& target, const WatchNotice& own);
  void end_unsendable(Watch& watch, ShardId shard, LogIndex revision);
  bool wants(const Watch& watch, const WatchRecord& record) const;
  void forget_past(Watch& watch);
  bool jammed(const Watch& watch) const;
  bool gone(const Watch& watch) const;

  // watch_follow.cc: watches of a name whose lock moves.
  FollowPosition place_of(NameHash name) const;
  void note_arrival(const WatchMove& move, ShardId shard);
  void forget_arrivals();
  void forget_arrivals(ShardId shard);
  void pause(WatchTargetState& target);
  static bool was_away(const Watch& watch, const WatchMove& move);
  static std::optional<FollowTurn> turn_at(const Watch& watch, const WatchMove& move);
  void arrive(Watch& watch, const WatchNotice& told);
  void aim(Watch& watch, const WatchFilter& filter);
  bool follow(Watch& watch, const FollowTurn& turn);
  bool replay_arrival(Watch& watch);
  bool settled(Watch& watch, bool& more);

  void make_live(Watch& watch);
  void make_behind(Watch& watch, std::uint64_t cursor);
  void unlist(Watch& watch);
  void end(Watch& watch, protocol::ErrorCode error, LogIndex first = {}, ShardId shard = {});
  void erase(Watch& watch);
  void end_all(protocol::ErrorCode error);
  void erase_gone();
  void tell_progress();

  WatchHubOptions options_;
  Environment environment_;
  Metrics metrics_;
  WatchChanges changes_;
  std::vector<WatchChange> seen_;          // Of the entry that is applied now,
  std::shared_ptr<const WatchMove> move_;  // and this.
  WatchRing ring_;
  std::map<ArrivalKey, Arrival> arrivals_;  // No more of both than the ring has records.
  std::deque<std::pair<std::uint64_t, ArrivalKey>> arrival_order_;  // By cursor.
  WatchTargets targets_;
  std::unique_ptr<WatchReplay> replay_;                                // From the first job on.
  std::unordered_map<std::uint64_t, std::unique_ptr<Watch>> watches_;  // By number.
  std::map<Key, std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::size_t> connections_;  // With the count of watches.
  std::set<std::pair<std::uint64_t, std::uint64_t>> timed_;     // When, and whose progress is due.
  std::vector<Watch*> behind_;                                  // Replaying or Behind.
  std::vector<WatchTargetState*> told_;                         // Of this turn; kept warm.
  std::uint64_t newest_ = 0;
  std::uint64_t delivered_ = 0;  // Records that were given to those who are live.
  std::size_t undelivered_bytes_ = 0;
  std::size_t turn_ = 0;  // Where pumping goes on in behind_.
  std::size_t replaying_ = 0;
  std::uint64_t now_ms_ = 0;
  std::uint64_t record_until_ms_ = 0;
  bool connected_ = true;
  std::uint32_t cut_off_sweeps_ = 0;
};

}  // namespace gcoord::server
