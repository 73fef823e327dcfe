// A state that commands in the log of shard 0 change, as a part of that shard's state
// (part_machine.h), and a listener that hears of changes and of the outcomes of proposals.
//
// Commands are records of one kind of its own. Policy says what differs:
//
//   using State = ...;     apply(command) -> Code, is_empty(), serialize(bytes), parse(bytes)
//   using Code = ...;      Applied: the command has changed the state
//   using Listener = ...;
//   static constexpr CookieOwner kOwner;
//   static constexpr RecordKind kRecord;
//   static constexpr PartMark kMark;
//   static constexpr std::string_view kName;
//   static constexpr std::size_t kCommandBytes;  the longest command
//   static constexpr auto kOnChanged, kOnDecided, kOnLost;  calls of Listener
//   static std::uint64_t mix(std::uint64_t inner, std::uint32_t digest);
//
// One thread, the engine's; the listener is called in its calls and must not block.
#pragma once

#include "common/crc32c.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/part_machine.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

template <typename Policy>
class CommandPart {
 public:
  using State = typename Policy::State;

  static constexpr CookieOwner kOwner = Policy::kOwner;
  static constexpr PartMark kMark = Policy::kMark;
  static constexpr std::string_view kName = Policy::kName;
  static constexpr bool kOnWitness = true;

  const State& state() const { return state_; }

  typename Policy::Code apply(std::span<const std::byte> command) {
    digest_.reset();
    return state_.apply(command);
  }

  bool in(ShardId shard) const { return shard == kViewShard; }

  bool is_empty(ShardId shard) const { return !in(shard) || state_.is_empty(); }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) const {
    if (in(shard)) {
      state_.serialize(bytes);
    }
  }

  std::optional<State> parse(std::span<const std::byte> bytes) const { return State::parse(bytes); }

  void take(ShardId, State state) {
    state_ = std::move(state);
    digest_.reset();
  }

  std::uint32_t digest(ShardId) const {
    if (!digest_) {
      std::vector<std::byte> bytes;
      state_.serialize(bytes);
      digest_ = crc32c(bytes);
    }
    return *digest_;
  }

  static std::uint64_t mix(std::uint64_t inner, std::uint32_t digest) {
    return Policy::mix(inner, digest);
  }

 private:
  State state_;
  // Of the state's bytes; none: not computed since it may have changed.
  mutable std::optional<std::uint32_t> digest_;
};

template <typename Policy>
class CommandMachine : public PartMachine<CommandPart<Policy>> {
 public:
  using Listener = typename Policy::Listener;

  // inner outlives it.
  explicit CommandMachine(StateMachine& inner) : Base(inner) {}

  // nullptr: nobody listens any more. Whoever listens looks at the state first.
  void set_listener(Listener* listener) { listener_ = listener; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override {
    this->pass_on(entry);
    if (!is_command(entry)) {
      return;
    }
    const Code code = this->part_.apply(record_body(entry.payload));
    if (code == Code::Applied) {
      tell();
    }
    if (this->is_own(entry.cookie) && listener_ != nullptr) {
      (listener_->*Policy::kOnDecided)(entry.cookie, code);
    }
  }

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override {
    if (!this->is_own(cookie)) {
      this->inner_.on_proposal_failed(cookie, status, leader_hint);
    } else if (listener_ != nullptr) {
      (listener_->*Policy::kOnLost)(cookie, status, leader_hint);
    }
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    GCOORD_TRY_STATUS(Base::install(shard, bytes));
    if (this->part_.in(shard)) {
      tell();
    }
    return Status{};
  }

 protected:
  const typename Policy::State& state_now() const { return this->part_.state(); }

  Listener* listener() const { return listener_; }

 private:
  using Base = PartMachine<CommandPart<Policy>>;
  using Code = typename Policy::Code;

  static_assert(kRecordHeaderBytes + Policy::kCommandBytes <= kCommandBytesMax);

  bool is_command(const AppliedEntry& entry) const {
    if (!this->part_.in(entry.shard) || entry.kind != consensus::EntryKind::Command) {
      return false;
    }
    const auto header = decode_record_header(entry.payload);
    return header && header->kind == Policy::kRecord;
  }

  void tell() const {
    if (listener_ != nullptr) {
      (listener_->*Policy::kOnChanged)();
    }
  }

  Listener* listener_ = nullptr;
};

}  // namespace gcoord::server
