// A state machine that adds a part of its own to the state of shards, before another one.
//
// The bytes of a shard: what the machine behind it gives, then the part and its mark
// (common/marked_part.h). An empty part leaves bytes and digest as the machine behind it gives
// them, as in releases without it. Part says what differs:
//
//   static constexpr CookieOwner kOwner;      whose proposals end here
//   static constexpr PartMark kMark;
//   static constexpr std::string_view kName;  for the operator, as in "the NAME in shard 0"
//   static constexpr bool kOnWitness;         whether a witness keeps it
//   bool in(ShardId) const;                   whether the shard may have one
//   bool is_empty(ShardId) const;
//   void serialize(ShardId, std::vector<std::byte>&) const;   nothing of an empty one
//   auto parse(std::span<const std::byte>) const;             an optional; nothing: not its bytes
//   void take(ShardId, value of parse());                     replaces the shard's
//   std::uint32_t digest(ShardId) const;                      of what serialize() gives
//   static std::uint64_t mix(std::uint64_t, std::uint32_t);   it into the digest of what is behind
//
// One thread, as its base.
#pragma once

#include "common/marked_part.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/passing_machine.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

template <typename Part>
class PartMachine : public PassingMachine {
 public:
  // inner outlives it.
  explicit PartMachine(StateMachine& inner, Part part = {})
      : PassingMachine(inner), part_(std::move(part)) {}

  // server/interfaces/state_machine.h
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.serialize(shard, bytes);
    add_part(shard, bytes);
  }

  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.checkpoint(shard, bytes);
    add_part(shard, bytes);
  }

  void witness_state(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.witness_state(shard, bytes);
    if (Part::kOnWitness) {
      add_part(shard, bytes);
    }
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    if (!part_.in(shard)) {
      return inner_.install(shard, bytes);
    }
    const auto split = split_marked_part(bytes, Part::kMark);
    auto state = split ? part_.parse(split->part) : std::nullopt;
    if (!state) {
      return Status{StatusCode::DataLoss,
                    "the " + std::string(Part::kName) + " in shard " + std::to_string(shard.value) +
                        " cannot be decoded",
                    kCheckpointImpossible};
    }
    GCOORD_TRY_STATUS(inner_.install(shard, split->before));
    part_.take(shard, *std::move(state));
    return Status{};
  }

  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override {
    if (!part_.in(shard)) {
      return inner_.plausible(shard, bytes);
    }
    const auto split = split_marked_part(bytes, Part::kMark);
    return split && part_.parse(split->part) && inner_.plausible(shard, split->before);
  }

  bool continues(ShardId shard, std::span<const std::byte> bytes) const override {
    const auto split = part_.in(shard) ? split_marked_part(bytes, Part::kMark) : std::nullopt;
    return inner_.continues(shard, split ? split->before : bytes);
  }

  std::uint64_t state_hash(ShardId shard) const override {
    const std::uint64_t inner = inner_.state_hash(shard);
    return part_.is_empty(shard) ? inner : Part::mix(inner, part_.digest(shard));
  }

 protected:
  static bool is_own(std::uint64_t cookie) { return is_cookie_of(Part::kOwner, cookie); }

  void pass_on(const AppliedEntry& entry) { apply_behind(inner_, Part::kOwner, entry); }

  Part part_;

 private:
  void add_part(ShardId shard, std::vector<std::byte>& bytes) const {
    const std::size_t begin = bytes.size();
    part_.serialize(shard, bytes);
    end_marked_part(bytes, begin, Part::kMark);
  }
};

}  // namespace gcoord::server
