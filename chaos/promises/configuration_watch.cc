#include "chaos/promises/configuration_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gcoord::chaos {

using consensus::Configuration;
using consensus::ConfigurationInput;

namespace {

// Slots mean nothing here: nodes do.
std::map<NodeId, std::uint32_t> weights_of(const Configuration& configuration,
                                           consensus::SlotMask half) {
  std::map<NodeId, std::uint32_t> weights;
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    if (consensus::has_slot(half, slot)) {
      weights[configuration.node[slot]] = configuration.weight[slot];
    }
  }
  return weights;
}

using Set = std::vector<NodeId>;

bool half_decides(const std::map<NodeId, std::uint32_t>& half, const Set& nodes, bool inside) {
  std::uint32_t total = 0;
  std::uint32_t agreed = 0;
  for (const auto& [node, weight] : half) {
    const bool in = std::ranges::find(nodes, node) != nodes.end();
    total += weight;
    agreed += in == inside ? weight : 0;
  }
  return half.empty() || 2 * agreed > total;
}

// Whether the nodes decide, or all nodes but them.
bool decides(const Configuration& configuration, const Set& nodes, bool inside) {
  return half_decides(weights_of(configuration, configuration.voters), nodes, inside) &&
         half_decides(weights_of(configuration, configuration.voters_outgoing), nodes, inside);
}

std::string text_of(const Configuration& configuration) {
  const auto list = [&configuration](consensus::SlotMask half) {
    std::string text;
    for (const auto& [node, weight] : weights_of(configuration, half)) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", node.value);
      text += weight > 1 ? fmt::format("*{}", weight) : std::string{};
    }
    return text;
  };
  std::string text = "{" + list(configuration.voters) + "}";
  text += configuration.joint() ? " and {" + list(configuration.voters_outgoing) + "}" : "";
  return text + (configuration.learners != 0 ? " with " + list(configuration.learners) : "");
}

bool same(const Configuration& one, const Configuration& other) {
  return weights_of(one, one.voters) == weights_of(other, other.voters) &&
         weights_of(one, one.voters_outgoing) == weights_of(other, other.voters_outgoing) &&
         weights_of(one, one.learners) == weights_of(other, other.learners);
}

}  // namespace

bool every_two_quorums_meet(const Configuration& one, const Configuration& other) {
  Set all;
  for (const Configuration* each : {&one, &other}) {
    for (const auto& [node, weight] : weights_of(*each, each->voters_either())) {
      all.push_back(node);
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (std::uint32_t mask = 0; mask < 1u << all.size(); ++mask) {
    Set nodes;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if ((mask >> k & 1u) != 0) {
        nodes.push_back(all[k]);
      }
    }
    if (decides(one, nodes, true) && decides(other, nodes, false)) {
      return false;
    }
  }
  return true;
}

ConfigurationWatch::ConfigurationWatch(std::uint32_t shard_count, std::uint32_t founders)
    : decided_(shard_count) {
  Configuration first;
  for (std::uint32_t slot = 0; slot < founders; ++slot) {
    first.node[slot] = NodeId{slot + 1};
    first.weight[slot] = 1;
    first.voters = static_cast<consensus::SlotMask>(first.voters | consensus::slot_bit(slot));
  }
  for (auto& shard : decided_) {
    shard[LogIndex{}] = first;
  }
}

bool ConfigurationWatch::has_voter(ShardId shard, NodeId node) const {
  const Configuration& newest = decided_[shard.value].rbegin()->second;
  const std::uint8_t slot = consensus::slot_of(newest, node);
  const auto votes = static_cast<consensus::SlotMask>(newest.voters | newest.voters_outgoing);
  return slot != consensus::kSlotNone && consensus::has_slot(votes, slot);
}

std::string ConfigurationWatch::on_applied(ShardId shard,
                                           LogIndex index,
                                           const Configuration& applied) {
  auto& decided = decided_[shard.value];
  const auto [at, added] = decided.try_emplace(index, applied);
  if (!added) {
    return same(at->second, applied)
               ? std::string{}
               : fmt::format("I6: index {} of shard {} makes {} on one node and {} on another",
                             index.value,
                             shard.value,
                             text_of(at->second),
                             text_of(applied));
  }
  ++changes_;
  const auto next = std::next(at);
  const Configuration& before = std::prev(at)->second;
  const bool follows = next == decided.end() && consensus::may_follow(before, applied) &&
                       every_two_quorums_meet(before, applied);
  return follows
             ? std::string{}
             : fmt::format("a configuration of shard {} does not follow: {} at index {} after {}",
                           shard.value,
                           text_of(applied),
                           index.value,
                           text_of(before));
}

// While a voter is replaced its successor comes first.
std::string ConfigurationWatch::on_proposed(const SeenStep& step, std::uint32_t wanted) {
  const Configuration& next = step.in.configuration;
  const Configuration& present = step.row.configuration();
  const std::uint32_t voters = consensus::count_slots(next.voters);
  const std::uint32_t least = std::min(consensus::count_slots(present.voters), wanted);
  return voters >= least
             ? std::string{}
             : fmt::format(
                   "node {} lowers what shard {} survives: {} after {}, where {} voters are "
                   "wanted",
                   step.node.value,
                   step.row.shard().value,
                   text_of(next),
                   text_of(present),
                   wanted);
}

std::string ConfigurationWatch::on_step(const SeenStep& step, std::uint32_t wanted) {
  switch (step.in.configuration_input) {
    case ConfigurationInput::Applied:
      return on_applied(step.row.shard(), step.in.configuration_index, step.in.configuration);
    case ConfigurationInput::Proposed:
      return wanted == 0 ? std::string{} : on_proposed(step, wanted);
    default:
      return {};
  }
}

}  // namespace gcoord::chaos
