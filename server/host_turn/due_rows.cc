#include "server/host_turn/due_rows.h"

#include <algorithm>
#include <cstddef>

namespace gcoord::server {
namespace {

// Rows of this node that campaign at once, about. After the death of one of three nodes with 65,536
// shards there are fewer, and all are to be led soon. Where still more shards have no leader, as
// after a start, fewer are.
constexpr std::uint32_t kCampaignsMost = 16384;
constexpr std::uint32_t kCampaignsOfMany = 4096;
constexpr std::uint32_t kLeaderlessMany = 65536;
// Rows that may begin a campaign in one turn although as many do: nobody waits for ever.
constexpr std::uint32_t kCampaignsLeast = 16;
// Due rows that are looked at in one turn meanwhile, for those that are at work already.
constexpr std::uint32_t kDueLooks = 8192;
// Rows that are woken meanwhile all the same in one turn: there is more to tell them.
constexpr std::uint32_t kWokenLeast = 512;

// Rows that may begin a campaign now. Rows that wait for credit count as campaigns: their messages
// are not even under way.
std::uint32_t room_for_campaigns(const ReplicaRows& rows, std::uint32_t parts) {
  const bool many = rows.leaderless > kLeaderlessMany / parts;
  const std::size_t most = (many ? kCampaignsOfMany : kCampaignsMost) / parts;
  const std::size_t under_way = rows.campaigns + rows.stalled_count();
  return static_cast<std::uint32_t>(under_way < most ? most - under_way : 0);
}

}  // namespace

void collect_due(Tick now, ReplicaRows& rows, std::uint32_t parts) {
  const std::uint32_t room = room_for_campaigns(rows, parts);
  const std::uint32_t campaigns_max = std::max(room, std::max(kCampaignsLeast / parts, 1u));
  const std::uint32_t looks = (room > 0 ? kRowsPerTurn : kDueLooks) / parts;
  std::uint32_t campaigns = 0;
  rows.deadlines.collect(rows.columns(), now, looks, [&](std::uint32_t row) {
    const bool may_begin = rows.ref(row).hot().role == consensus::Role::Follower;
    if (may_begin && campaigns == campaigns_max) {
      return false;
    }
    campaigns += may_begin ? 1 : 0;
    rows.active.touch(row);
    return true;
  });
  rows.wake((room > 0 ? kRowsPerTurn : kWokenLeast) / parts);
}

}  // namespace gcoord::server
