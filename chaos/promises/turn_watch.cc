#include "chaos/promises/turn_watch.h"

#include <fmt/format.h>

namespace gcoord::chaos {

using consensus::scenario::LeaseHolder;
using consensus::scenario::RaftBreach;
using consensus::scenario::RaftHistory;

namespace {

std::string told(const std::optional<RaftBreach>& breach, std::uint32_t shard) {
  return breach ? fmt::format(
                      "{}: shard {}: {}", number_of(breach->invariant), shard, breach->sentence)
                : std::string{};
}

}  // namespace

std::string TurnWatch::on_step(const SeenStep& step) {
  const std::uint32_t number = step.row.shard().value;
  Shard& shard = shards_[number];
  if (step.in.read_sequence != 0) {
    rounds_[{step.node.value, number}] = {step.in.read_sequence, shard.history.committed()};
  }
  shard.history.on_commit(Term{}, step.row.log().commit);
  const std::uint32_t bit = 1u << (step.node.value - 1);
  const bool leads = step.row.hot().role == consensus::Role::Leader;
  shard.leaders = leads ? shard.leaders | bit : shard.leaders & ~bit;
  if (!shard.stepped) {
    shard.stepped = true;
    due_.push_back(number);
  }
  const auto open = rounds_.find({step.node.value, number});
  if (step.out.read != consensus::ReadVerdict::Ready || open == rounds_.end() ||
      open->second.sequence != step.out.read_sequence) {
    return {};
  }
  const OpenRound round = open->second;
  rounds_.erase(open);
  return told(RaftHistory::on_read({.node = step.node,
                                    .round = round.sequence,
                                    .index = step.out.read_index,
                                    .owed = round.owed}),
              number);
}

std::string TurnWatch::end_turn(const LeaseOf& lease_of) {
  std::string broken;
  std::vector<LeaseHolder> holders;
  std::vector<std::uint32_t> contested_shards;
  for (const std::uint32_t number : due_) {
    Shard& shard = shards_[number];
    shard.stepped = false;
    holders.clear();
    for (std::uint32_t node = 1; shard.leaders >> (node - 1) != 0; ++node) {
      const bool leads = (shard.leaders >> (node - 1) & 1u) != 0;
      const auto commit = leads ? lease_of(NodeId{node}, ShardId{number}) : std::nullopt;
      if (commit) {
        holders.push_back({NodeId{node}, *commit});
      }
    }
    if (const std::string now = told(shard.history.on_leases(holders), number); broken.empty()) {
      broken = now;
    }
    if (contested(shard)) {
      shard.stepped = true;  // It stays due.
      contested_shards.push_back(number);
    }
  }
  due_ = std::move(contested_shards);
  return broken;
}

}  // namespace gcoord::chaos
