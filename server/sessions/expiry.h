// Ends sessions whose time ran out: the leader's part, with the agreement of a majority of nodes.
//
// A client counts its session as renewed when a majority of nodes acknowledged a keep-alive, and
// the leader of a shard need not be among them. So a leader that heard nothing for a TTL asks the
// other nodes first, and proposes the expiry only when a majority, itself included, was silent for
// the whole TTL before the moment of asking: any majority that renewed the session would share a
// node with it (protocol/session_messages.h). Where nodes come and go, voters.h says whose
// majority that is; an answer of a node with a newer view than this one's counts for nothing. A
// node that cannot tell, because it has not applied the registration, stands for neither side; a
// witness, which has none, answers by the keep-alives that it acknowledged (heard.h). A keep-alive
// that comes here before the proposal saves the session; after it, its client is told that it is
// lost.
//
// What else is guarded: nothing is proposed unless the leader's lease is valid. After a gap of the
// loop nothing is looked at for a quarter of an election time, and questions are answered with
// "cannot tell": keep-alives of the gap may still be unread. Deadlines do not move by the gap. What
// was not read was not acknowledged either, so its client does not count on it, and a session never
// ends early by that.
//
// How late: without a keep-alive a session ends at most a TTL, one and a half election times and
// kEndTicksMax after the last one, while a majority runs, whenever in between its shard's leader is
// lost or stands still once: the others need that long to elect, and a new leader gives one
// election time more (S7). What happens to leaders afterwards adds its own time without a leader,
// and a node that restarted counts from its restart.
//
// Very many that end together share the log with everybody else's requests. So a pass takes a part
// of them, the next pass the next part, and none is taken while kExpiryCostMax is not decided: a
// request waits for one part, not for all (docs/adr/0048). What is due is put into the order of
// shards first, so that an entry of the log ends many of them (expiry_log.h, docs/adr/0051).
//
// A registration without locks whose session is a member of a group may wait for other members that
// run out soon, up to a third of its TTL (gathered_ends.h, docs/adr/0152): S7's bound is of locks.
// One thread.
#pragma once

#include "common/host/metrics.h"
#include "locks/cpu/lock_cpu.h"
#include "server/budget/pass_budget.h"
#include "server/interfaces/replicated_log.h"
#include "server/sessions/expiry_log.h"
#include "server/sessions/expiry_message.h"
#include "server/sessions/expiry_rounds.h"
#include "server/sessions/gathered_ends.h"
#include "server/sessions/heard.h"
#include "server/sessions/voters.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// Registrations that one pass asks about at most: a part of less than a millisecond.
inline constexpr std::size_t kExpiriesPerPassMax = 1024;

// What is asked about or in the log and not decided: so much that the next parts are under way
// while the disk writes the first, and so little that a request does not wait for long behind it.
// Some 3 milliseconds of work on each node: 1,300 ends with their questions in lists of 100. Four
// times as much ended a million no sooner, and others waited twice as long
// (docs/internals/performance_services.md).
inline constexpr std::size_t kExpiryCostMax = std::size_t{1} << 12;

// A registration that is asked about: the question, and what its end will cost in a list.
inline constexpr std::size_t kQuestionCost = 2 * kEndCost;

// Registrations that are put into the order of shards together: so many as are due, within these
// bounds. The more there are of each shard, the more one entry ends; sorting the most of them takes
// some milliseconds, and happens when ten times as much work is behind.
inline constexpr std::size_t kExpiriesSortedMin = std::size_t{1} << 12;
inline constexpr std::size_t kExpiriesSortedMax = std::size_t{1} << 16;

// From the deadline of a session at its leader to the proposal of its end, with nodes and links
// that are not busy: the silence that is needed beyond the TTL, the question, its answer, and a
// second question because ticks are rounded.
inline constexpr std::uint64_t kEndTicksMax = 12;

struct SessionExpiryOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // The fixed list, this one too; at most ExpiryVoters::kNodesMax.
  std::uint32_t tick_ms = 10;
  std::uint64_t election_ticks = 100;
  std::uint32_t ttl_ms_min = 100;
  std::optional<HeardOptions> witness;  // This node is one, and answers by what it heard.
};

class SessionExpiry {
 public:
  struct Environment {
    std::function<bool(ShardId)> leads;
    // As SessionClock::collect_due, of the tables' clock.
    std::function<std::size_t(Tick, std::span<sessions::ExpiryProposal>)> collect_due;
    ExpiryLog::Environment log;
    GatheredEnds::Groups groups;
    PassBudget& budget;
  };

  SessionExpiry(const SessionExpiryOptions& options,
                locks::LockCpu& locks,
                MetricsRegistry& metrics,
                Environment doors);
  SessionExpiry(const SessionExpiry&) = delete;
  SessionExpiry& operator=(const SessionExpiry&) = delete;

  void start(ReplicatedLog& engine) { engine_ = &engine; }

  // Who the voters are from now on, by a view that this node has. Earlier ones change nothing.
  void set_members(const ClusterMembers& members, Tick now);

  // Looks for registrations that ran out, asks, and proposes what a majority agreed to. Called in
  // every pass; costs nothing when nothing is due.
  void on_pass(Tick now);

  // What was proposed under this number was applied, whatever it did.
  void on_decided(std::uint64_t number, Tick now);

  // It did not get into the log: due again at `again`.
  void on_refused(std::uint64_t number, Tick again);

  // This node leads a shard now, so deadlines may be past already.
  void on_led() { next_scan_ = Tick{}; }

  // The loop stood still until now.
  void on_loop_gap(Tick now);
  void on_peer_message(NodeId from, std::span<const std::byte> message, Tick now);

  // Whether more ends are due or under way than one pass takes.
  bool behind() const {
    return due_.size() - due_place_ + log_.cost() > kExpiriesPerPassMax * kEndCost;
  }

  // When on_pass has something to do; kTickNever while nothing is registered.
  Tick next_deadline() const;

  // What keep-alives are noted in; nullptr: this node is no witness, and its tables know them.
  HeardSessions* heard() { return heard_ ? &*heard_ : nullptr; }

  // Messages that did not decode.
  std::uint64_t dropped_count() const { return dropped_->value(); }

 private:
  struct Collected {
    std::size_t count = 0;        // Registrations that were due,
    std::size_t early_count = 0;  // and of them those that are not yet.
    bool full = false;            // There may be more.
  };

  std::size_t cost(Tick now) const;
  Collected collect(Tick now);
  void take_part(Tick now);
  void look_at(const sessions::ExpiryProposal& due, Tick now);
  bool leading(ShardId shard);
  bool majority(std::uint64_t silent_mask, const sessions::ExpiryProposal& due, Tick now) const;
  Tick repeat_at(Tick now) const;
  std::uint64_t silence_needed(std::uint32_t ttl_ms) const;

  std::uint64_t silence_needed(const sessions::ExpiryProposal& due) const {
    return silence_needed(locks_.clock().ttl_ms(due.row));
  }

  void ask(Tick now);
  void answer(NodeId to, ExpiryMessage& message, Tick now);
  std::uint64_t silent_ms(const ExpiryCase& question, Tick now) const;
  void take_answers(NodeId from, const ExpiryMessage& message, Tick now);
  void take_answer(std::uint64_t from,
                   std::uint64_t silent_ms,
                   ExpiryRound& round,
                   ExpiryRound::Case& asked,
                   Tick now);
  bool stands(const ExpiryRound& round, const ExpiryRound::Case& asked, Tick now) const;
  void propose(const sessions::ExpiryProposal& agreed, Tick now);
  void settle(std::uint64_t number, Tick due);

  SessionExpiryOptions options_;
  locks::LockCpu& locks_;
  ReplicatedLog* engine_ = nullptr;
  Environment environment_;
  ExpiryLog log_;
  GatheredEnds gathered_;
  ExpiryRounds rounds_;
  ExpiryVoters voters_;
  std::optional<HeardSessions> heard_;
  Counter* asked_ = nullptr;
  Counter* dropped_ = nullptr;
  Histogram* late_ = nullptr;
  Tick next_scan_;
  Tick clear_after_;  // After a gap: before it this node cannot tell who was silent.
  // Collected from the clock, in the order of shards; those before the place were looked at.
  std::vector<sessions::ExpiryProposal> due_;
  std::size_t due_place_ = 0;
  std::size_t due_room_ = kExpiriesSortedMin;  // What the next collection takes at most.
  std::vector<ExpiryRound::Case> to_ask_;
  ShardId leading_shard_ = locks::kNoShard;  // Of the newest leading() of this pass.
  bool leading_ = false;
};

}  // namespace gcoord::server
