// Ends sessions whose time ran out: the leader's part, with the agreement of a majority of nodes.
//
// A client counts its session as renewed when a majority of nodes acknowledged a keep-alive, and
// the leader of a shard need not be among them. So a leader that heard nothing for a TTL asks the
// other nodes first, and proposes the expiry only when a majority, itself included, was silent for
// the whole TTL before the moment of asking: any majority that renewed the session would share a
// node with it (rpc/session_messages.h). A node that cannot tell, because it has not applied the
// registration, stands for neither side.
//
// What else is guarded: nothing is proposed unless the leader's lease is valid; after a gap of the
// loop all deadlines move by it, and questions are answered with "cannot tell" for one election
// time, because the keep-alives of that time may still be unread.
//
// Very many that end together share the log with everybody else's requests. So a pass takes a part
// of them, the next pass the next part, and none is taken while kExpiriesUnderWayMax are not
// decided: a request waits for one part, not for all (docs/adr/0048). One thread.
#pragma once

#include "common/metrics.h"
#include "locks/lock_cpu.h"
#include "server/replica_port.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// Registrations that one pass asks about: with 13 bytes and some two microseconds each, a part of a
// few milliseconds.
inline constexpr std::size_t kExpiriesPerPassMax = 1024;

// Expiries that are asked about or in the log and not decided: so many parts that the next ones are
// under way while the disk writes the first.
inline constexpr std::size_t kExpiriesUnderWayMax = 4 * kExpiriesPerPassMax;

// Of them in one message.
inline constexpr std::size_t kCasesPerMessageMax = 1024;

struct SessionExpiryOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // All of the cluster, this one too; at most 64.
  std::uint32_t tick_ms = 10;
  std::uint64_t election_ticks = 100;
  std::uint32_t ttl_ms_min = 100;
};

class SessionExpiry {
 public:
  using Propose = std::function<void(const locks::ExpiryProposal&)>;
  using Leads = std::function<bool(ShardId)>;

  SessionExpiry(const SessionExpiryOptions& options,
                locks::LockCpu& locks,
                MetricsRegistry& metrics,
                Leads leads,
                Propose propose);

  void start(ReplicaPort& engine) { engine_ = &engine; }

  // Looks for registrations that ran out, asks, and proposes what a majority agreed to. Called in
  // every pass; costs nothing when nothing is due.
  void on_pass(Tick now);

  // A proposal was applied, whatever it did.
  void on_decided() { settle_one(); }

  // A proposal did not get into the log: due again.
  void on_refused(const locks::ExpiryProposal& proposal, Tick now);

  // This node leads the shard now, so deadlines may be past already.
  void on_led() { next_scan_ = Tick{}; }

  void on_loop_gap(std::uint64_t ticks, Tick now);
  void on_peer_message(NodeId from, std::span<const std::byte> message, Tick now);

  // When on_pass has something to do; kTickNever while nothing is registered.
  Tick next_deadline() const;

  // Messages that did not decode.
  std::uint64_t dropped_count() const { return dropped_->value(); }

 private:
  // One registration that the other nodes were asked about. The row that it is found by may serve
  // another registration by now, in another shard and so with the same serial.
  struct Question {
    SessionId session;
    ShardId shard;
    std::uint32_t serial = 0;
    Tick asked;
    Tick ask_again;                 // When the answers may be different.
    std::uint64_t silent_mask = 0;  // Bit k: options_.nodes[k] was silent for the TTL.
  };

  struct Case {  // As it travels, 24 bytes.
    std::uint64_t session = 0;
    std::uint32_t shard = 0;
    std::uint32_t serial = 0;
    std::uint64_t silent_ms = 0;  // In an answer; kSilenceUnknown: cannot tell.
  };

  static_assert(sizeof(Case) == 24);

  void propose(const locks::ExpiryProposal& due);
  void settle_one();
  bool full(Tick now);
  bool agreed(const locks::ExpiryProposal& due, Tick now);
  bool majority(std::uint64_t silent_mask) const;
  void propose_if_agreed(const locks::ExpiryProposal& asked, Tick now);
  void ask_sooner(const locks::ExpiryProposal& asked, Tick now, std::uint64_t lacking_ticks);
  Tick first_question(const locks::ExpiryProposal& due, Tick now) const;
  bool stands(const Question& question, const locks::ExpiryProposal& due, Tick now) const;
  bool dying(const locks::ExpiryProposal& due) const;
  void ask(Tick now);
  void answer(NodeId to, std::span<const std::byte> message, std::uint64_t round, Tick now);
  void take_answers(NodeId from, std::span<const std::byte> message, std::uint64_t round, Tick now);
  std::uint64_t silent_ms(const Case& question, Tick now) const;
  std::vector<std::byte> encode(std::uint8_t kind,
                                std::uint64_t round,
                                std::span<const Case> cases);
  std::uint64_t bit_of(NodeId node) const;

  SessionExpiryOptions options_;
  locks::LockCpu& locks_;
  ReplicaPort* engine_ = nullptr;
  Leads leads_;
  Propose propose_;
  Counter* proposed_ = nullptr;
  Counter* asked_ = nullptr;
  Counter* dropped_ = nullptr;
  Tick next_scan_;
  Tick clear_after_;  // Before it this node cannot tell who was silent.
  std::unordered_map<std::uint32_t, Question> questions_;  // By session row.
  std::vector<Case> to_ask_;
  std::vector<locks::ExpiryProposal> due_;
  std::size_t under_way_ = 0;   // Proposed, and neither decided nor refused.
  std::size_t unanswered_ = 0;  // Asked, and not answered by anybody, as far as it is known.
  Tick asked_at_;               // The newest question.
};

}  // namespace gcoord::server
