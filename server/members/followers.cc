#include "server/members/followers.h"

#include "server/interfaces/cluster_members.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

// Whether a node that had a vote is a tombstone now.
bool loses_voter(const std::vector<NodeId>& before, const protocol::ClusterView& view) {
  return std::ranges::any_of(before, [&view](NodeId node) {
    const protocol::Member* const member = protocol::find_member(view, node);
    return member == nullptr || member->state == protocol::MemberState::Removed;
  });
}

}  // namespace

void ViewFollowers::take_views(const Views& views) {
  // Those between that are not kept any more are left for sure (is_full).
  for (std::uint64_t epoch = std::max(newest_.epoch + 1, views.oldest); epoch <= views.newest;
       ++epoch) {
    const auto view = views.at(epoch);
    if (!view) {
      continue;
    }
    if (newest_.epoch != 0) {
      left_below_ = loses_voter(newest_.nodes, *view) ? newest_.epoch : left_below_;
      earlier_.push_back(std::move(newest_));
    }
    newest_ = {epoch, voters_of(*view)};
  }
}

void ViewFollowers::hear(const EpochOf& epoch_of) {
  for (const Voters& view : earlier_) {
    for (const NodeId node : view.nodes) {
      said_[node] = std::max(said_[node], epoch_of(node));
    }
  }
}

bool ViewFollowers::is_left(const Voters& view) const {
  const auto count = std::ranges::count_if(view.nodes, [&](NodeId node) {
    const auto said = said_.find(node);
    return said != said_.end() && said->second > view.epoch;
  });
  return view.epoch < left_below_ || 2 * static_cast<std::size_t>(count) >= view.nodes.size();
}

bool ViewFollowers::look(const Views& views, const EpochOf& epoch_of) {
  take_views(views);
  hear(epoch_of);
  std::erase_if(earlier_, [this](const Voters& view) { return is_left(view); });
  std::vector<std::vector<NodeId>> lists;
  for (auto view = earlier_.rbegin(); view != earlier_.rend(); ++view) {
    const bool known =
        view->nodes == newest_.nodes || std::ranges::find(lists, view->nodes) != lists.end();
    if (!known) {
      lists.push_back(view->nodes);
    }
  }
  return std::exchange(lists_, lists) != lists;
}

}  // namespace gcoord::server
