#include "chaos/world/shard_report.h"

#include "consensus/scenario/names.h"

#include <fmt/format.h>

namespace gcoord::chaos {

std::string shard_report(ShardId shard, const std::vector<WorldNode*>& nodes) {
  std::string text = fmt::format("shard {}:", shard.value);
  for (WorldNode* node : nodes) {
    const server::ShardView view = node->engine().view(shard);
    text += fmt::format(
        " [node {} role {} leader {} vote {} term {} last {} commit {} applied {} of {}]",
        node->id().value,
        static_cast<int>(view.role),
        view.leader.value,
        view.vote.value,
        view.term.value,
        view.last.value,
        view.commit.value,
        view.applied.value,
        consensus::scenario::text_of(view.configuration));
  }
  return text;
}

}  // namespace gcoord::chaos
