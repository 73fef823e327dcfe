#include "chaos/promises/quorum_watch.h"

#include "consensus/step/quorum.h"

#include <fmt/format.h>

#include <functional>

namespace gcoord::chaos {
namespace {

using consensus::Configuration;
using consensus::MessageKind;
using consensus::SlotMask;

// A vote may be late: who got it may come to lead when a later term has a leader already, which it
// hears of soon.
constexpr std::uint64_t kTermsKept = 64;

std::uint64_t bit_of(NodeId node) {
  return std::uint64_t{1} << (node.value % QuorumWatch::kNodesMax);
}

// The slots of the configuration whose nodes are meant.
SlotMask slots_of(const Configuration& configuration, const std::function<bool(NodeId)>& meant) {
  SlotMask slots = 0;
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    const bool member = consensus::has_slot(configuration.members(), slot);
    if (member && meant(configuration.node[slot])) {
      slots = static_cast<SlotMask>(slots | consensus::slot_bit(slot));
    }
  }
  return slots;
}

// A step may apply a configuration after it has counted by the one before.
bool decides(const Configuration& before,
             const Configuration& after,
             const std::function<bool(NodeId)>& meant) {
  return is_quorum(after, slots_of(after, meant)) || is_quorum(before, slots_of(before, meant));
}

}  // namespace

void QuorumWatch::on_message(const consensus::Message& message) {
  constexpr std::uint8_t kCountsNot = consensus::kFlagReject | consensus::kFlagForgetful;
  if ((message.flags & kCountsNot) != 0) {
    return;
  }
  Shard& shard = shards_[message.shard.value];
  if (message.kind == MessageKind::VoteReply) {
    shard.votes[{message.term, message.to}] |= bit_of(message.from);
  } else if (message.kind == MessageKind::AppendReply) {
    Acknowledged& acknowledged = shard.acknowledged[message.from];
    if (message.term != acknowledged.term) {
      acknowledged = {message.term, message.index};
    }
    acknowledged.index = max_id(acknowledged.index, message.index);
  }
}

std::string QuorumWatch::on_elected(const SeenStep& step,
                                    const Shard& shard,
                                    const Row& before) const {
  const Term term = step.row.hot().term;
  const auto votes = shard.votes.find({term, step.node});
  const std::uint64_t granted = votes == shard.votes.end() ? 0 : votes->second;
  const bool elected = decides(before.configuration, step.row.configuration(), [&](NodeId node) {
    return node == step.node || (granted & bit_of(node)) != 0;
  });
  return elected ? std::string{}
                 : fmt::format(
                       "I1: node {} leads shard {} in term {} without the votes of a quorum of "
                       "its configuration",
                       step.node.value,
                       step.row.shard().value,
                       term.value);
}

std::string QuorumWatch::on_decided(const SeenStep& step,
                                    const Shard& shard,
                                    const Row& before) const {
  const Term term = step.row.hot().term;
  const LogIndex commit = step.row.log().commit;
  const bool decided = decides(before.configuration, step.row.configuration(), [&](NodeId node) {
    if (node == step.node) {
      return step.row.storage().durable >= commit;
    }
    const auto said = shard.acknowledged.find(node);
    return said != shard.acknowledged.end() && said->second.term == term &&
           said->second.index >= commit;
  });
  return decided ? std::string{}
                 : fmt::format(
                       "I5: node {} decided index {} of shard {} in term {} without a quorum of "
                       "its configuration",
                       step.node.value,
                       commit.value,
                       step.row.shard().value,
                       term.value);
}

std::string QuorumWatch::on_step(const SeenStep& step) {
  Shard& shard = shards_[step.row.shard().value];
  const bool leads = step.row.hot().role == consensus::Role::Leader;
  const Term term = step.row.hot().term;
  const auto [found, fresh] = shard.rows.try_emplace(step.node);
  Row& row = found->second;
  if (fresh) {
    row.configuration = step.row.configuration();
  }
  std::string broken;
  if (leads && !(row.led && row.term == term)) {
    broken = on_elected(step, shard, row);
    std::erase_if(shard.votes, [term](const auto& each) {
      return each.first.first.value + kTermsKept < term.value;
    });
  } else if (leads && step.row.log().commit > shard.committed) {
    broken = on_decided(step, shard, row);
  }
  shard.committed = max_id(shard.committed, step.row.log().commit);
  row = {term, leads, step.row.configuration()};
  return broken;
}

}  // namespace gcoord::chaos
