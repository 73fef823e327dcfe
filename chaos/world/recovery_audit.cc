#include "chaos/world/recovery_audit.h"

#include "chaos/world/world_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gcoord::chaos {

RecoveryAudit::RecoveryAudit(std::uint32_t node_count, std::uint32_t shard_count)
    : shard_count_(shard_count),
      votes_(node_count, std::vector<Vote>(shard_count)),
      began_(node_count),
      said_(node_count),
      decided_(shard_count) {}

void RecoveryAudit::take(const consensus::Message& message) {
  const bool granted = message.kind == consensus::MessageKind::VoteReply &&
                       (message.flags & consensus::kFlagReject) == 0;
  Vote& vote = votes_[message.from.value - 1][message.shard.value];
  if (granted && message.term > vote.term) {
    vote = {message.term, message.to};
  }
}

std::string RecoveryAudit::look_at_votes(std::uint32_t index, WorldNode& node) {
  if (!began_[index] || !node.running()) {
    return {};
  }
  began_[index] = false;
  for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
    const Vote& vote = votes_[index][shard];
    const server::ShardView view = node.engine().view(ShardId{shard});
    if (view.term < vote.term || (view.term == vote.term && view.vote != vote.candidate)) {
      return fmt::format(
          "I2: node {} voted for {} in term {} of shard {}, and knows vote {} in term {} after it "
          "began anew",
          index + 1,
          vote.candidate.value,
          vote.term.value,
          shard,
          view.vote.value,
          view.term.value);
    }
  }
  return {};
}

void RecoveryAudit::note(std::uint32_t index, WorldNode& node) {
  std::vector<Said>& said = said_[index];
  said.clear();
  for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
    const server::ShardView view = node.engine().view(ShardId{shard});
    said.push_back({view.durable, view.commit});
  }
}

std::string RecoveryAudit::compare(std::uint32_t index, WorldNode& node) {
  const std::vector<Said> said = std::exchange(said_[index], {});
  began_[index] = true;
  for (std::uint32_t shard = 0; shard < said.size(); ++shard) {
    const server::ShardView view = node.engine().view(ShardId{shard});
    ++compared_;
    if (view.last < said[shard].durable) {
      return fmt::format("node {} said that shard {} is durable up to {} and recovered {}",
                         index + 1,
                         shard,
                         said[shard].durable.value,
                         view.last.value);
    }
  }
  return {};
}

void RecoveryAudit::note_decided() {
  decided_noted_ = true;
  for (const std::vector<Said>& said : said_) {
    for (std::uint32_t shard = 0; shard < said.size(); ++shard) {
      decided_[shard] = max_id(decided_[shard], said[shard].commit);
    }
  }
}

std::string RecoveryAudit::compare_decided(const std::vector<WorldNode*>& nodes) {
  if (!decided_noted_) {
    return {};
  }
  decided_noted_ = false;
  for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
    const auto having = std::ranges::count_if(nodes, [&](WorldNode* node) {
      return node->engine().view(ShardId{shard}).last >= decided_[shard];
    });
    ++compared_;
    if (static_cast<std::size_t>(having) * 2 <= nodes.size()) {
      return fmt::format("{} of {} nodes have shard {} up to {}, which was decided",
                         having,
                         nodes.size(),
                         shard,
                         decided_[shard].value);
    }
  }
  return {};
}

}  // namespace gcoord::chaos
