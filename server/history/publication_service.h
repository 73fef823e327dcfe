// The services of a node with the publication's state beside them: what the engine calls.
//
//   engine -> PublicationService -> the services that were there before
//
// Every call is passed on. Publication entries (RecordKind::Publication in the log of shard 0) are
// taken here, too, and change a state that is part of shard 0's: it is in its snapshots and its
// digest. The bytes of shard 0: what is passed on gives, the publication's, their length u32; an
// empty state of both is empty. What was learned is told to a listener, which is set once the
// engine is open; until then it is kept.
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/ids.h"
#include "ledger/heads/entry.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class PublicationListener {
 public:
  virtual ~PublicationListener() = default;

  // The shard has `size` decided entries, of which the last is worth publishing: it is none of the
  // publication's, and no piece that says nothing by itself (RecordKind::Part).
  virtual void on_applied(ShardId shard, std::uint64_t size) = 0;
  // A round that was taken; the state follows.
  virtual void on_publication_round(const RoundEntry& round) = 0;
  virtual void on_publication_state(const PublicationState& state) = 0;
  virtual void on_publisher(bool publisher) = 0;
  virtual void on_publication_lost() = 0;
  virtual void on_publication_message(NodeId from, std::span<const std::byte> message) = 0;
};

// Of all proposals of the publication; no other service has it.
inline constexpr std::uint64_t kPublicationCookie = cookie_mark(CookieOwner::Publication).bits;

// The record that is proposed for an entry. time_ms: Unix milliseconds.
std::vector<std::byte> publication_record(std::span<const std::byte> entry, std::uint64_t time_ms);

class PublicationService final : public StateMachine {
 public:
  // inner outlives it.
  explicit PublicationService(StateMachine& inner) : inner_(inner) {}

  // Tells it what is known by now. nullptr: nobody listens any more.
  void set_listener(PublicationListener* listener);

  const PublicationState& publication() const { return state_; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override;

  void state(ShardId shard, std::vector<std::byte>& bytes) override { inner_.state(shard, bytes); }

  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;
  bool continues(ShardId shard, std::span<const std::byte> bytes) const override;
  std::uint64_t state_hash(ShardId shard) const override;

  std::uint64_t device_hash(ShardId shard) const override { return inner_.device_hash(shard); }

  void on_peer_message(NodeId from, std::span<const std::byte> message) override;
  void on_loop_gap(std::uint64_t ticks) override;

  bool behind() const override { return inner_.behind(); }

 private:
  StateMachine& inner_;
  PublicationListener* listener_ = nullptr;
  void tell_state();
  void add_state(ShardId shard, std::size_t begin, std::vector<std::byte>& bytes) const;

  PublicationState state_;
  std::vector<RoundEntry> kept_;  // Rounds that were taken before there was a listener.
  bool publisher_ = false;
};

}  // namespace gcoord::server
