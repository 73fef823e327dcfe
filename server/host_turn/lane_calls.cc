#include "server/host_turn/lane_calls.h"

#include "common/assert.h"

namespace gcoord::server {

void LaneCalls::tell() {
  keeps_ = false;
  for (const Call& call : kept_) {
    carry_out(call);
  }
  kept_.clear();
  transitions_.clear();
  transitions_told_ = 0;
}

void LaneCalls::shrink() {
  kept_.shrink_to_fit();
  transitions_.shrink_to_fit();
}

void LaneCalls::carry_out(const Call& call) {
  switch (call.kind) {
    case Kind::Role:
      return service_.on_role(call.shard, call.role, call.term, call.leader);
    case Kind::Read:
      return service_.on_read(call.cookie, call.status, call.leader);
    case Kind::ProposalFailed:
      return service_.on_proposal_failed(call.cookie, call.status, call.leader);
    case Kind::Transition:
      return trace_(transitions_[transitions_told_++]);
  }
}

void LaneCalls::trace(const ShardTransition& transition) {
  if (!keeps_) {
    return trace_(transition);
  }
  transitions_.push_back(transition);
  kept_.emplace_back().kind = Kind::Transition;
}

void LaneCalls::on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (!keeps_) {
    return service_.on_proposal_failed(cookie, status, leader_hint);
  }
  kept_.push_back(
      {.kind = Kind::ProposalFailed, .leader = leader_hint, .cookie = cookie, .status = status});
}

void LaneCalls::on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (!keeps_) {
    return service_.on_read(cookie, status, leader_hint);
  }
  kept_.push_back({.kind = Kind::Read, .leader = leader_hint, .cookie = cookie, .status = status});
}

void LaneCalls::on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) {
  if (!keeps_) {
    return service_.on_role(shard, role, term, leader);
  }
  kept_.push_back(
      {.kind = Kind::Role, .role = role, .shard = shard, .leader = leader, .term = term});
}

void LaneCalls::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  const std::lock_guard lock(reading_);
  service_.serialize(shard, bytes);
}

void LaneCalls::checkpoint(ShardId shard, std::vector<std::byte>& bytes) {
  const std::lock_guard lock(reading_);
  service_.checkpoint(shard, bytes);
}

void LaneCalls::witness_state(ShardId shard, std::vector<std::byte>& bytes) {
  const std::lock_guard lock(reading_);
  service_.witness_state(shard, bytes);
}

void LaneCalls::state(ShardId shard, std::vector<std::byte>& bytes) {
  const std::lock_guard lock(reading_);
  service_.state(shard, bytes);
}

std::uint64_t LaneCalls::state_hash(ShardId shard) const {
  const std::lock_guard lock(reading_);
  return service_.state_hash(shard);
}

void LaneCalls::apply(const AppliedEntry& entry) {
  GCOORD_ASSERT(!keeps_);
  service_.apply(entry);
}

Status LaneCalls::install(ShardId shard, std::span<const std::byte> bytes) {
  GCOORD_ASSERT(!keeps_);
  return service_.install(shard, bytes);
}

void LaneCalls::on_loop_gap(std::uint64_t ticks) {
  GCOORD_ASSERT(!keeps_);
  service_.on_loop_gap(ticks);
}

}  // namespace gcoord::server
