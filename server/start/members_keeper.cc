#include "server/start/members_keeper.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

void add_voters(std::vector<NodeId> voters, std::vector<std::vector<NodeId>>& earlier) {
  if (!voters.empty() && std::ranges::find(earlier, voters) == earlier.end()) {
    earlier.push_back(std::move(voters));
  }
}

// The log is behind the directory: its voters may be those that others still go by.
ClusterMembers with_older(const ClusterMembers& kept, const ClusterMembers& said) {
  ClusterMembers members = kept;
  add_voters(voters_of(said.view), members.earlier_voters);
  for (const std::vector<NodeId>& voters : said.earlier_voters) {
    add_voters(voters, members.earlier_voters);
  }
  return members;
}

}  // namespace

MembersKeeper::MembersKeeper(ledger::Disk& disk, const NodeStart& start)
    : disk_(disk),
      given_(start.given),
      kept_(start.kept),
      hints_(start.hints),
      unkept_(start.carried),
      kept_epoch_(start.carried ? 0 : start.kept.view().epoch) {
  settle_addresses();
}

void MembersKeeper::settle_addresses() {
  members_ = kept_.members;
  hints_.apply(members_.view);
}

Result<bool> MembersKeeper::take(const ClusterMembers& said) {
  if (said.view.epoch == 0) {
    return false;  // The fixed list, by which every part has begun.
  }
  const bool first = kept_.view().epoch == 0;
  const ClusterMembers newest =
      said.view.epoch < kept_.view().epoch ? with_older(kept_.members, said) : said;
  if (newest == kept_.members) {
    return false;
  }
  kept_.members = newest;
  if (first) {
    hints_ = AddressHints(given_, {}, newest.view);
  }
  settle_addresses();
  GCOORD_TRY_STATUS(keep());
  return true;
}

Status MembersKeeper::mark_removed() {
  kept_.removed = kept_.view().epoch != 0;
  return kept_.removed ? keep() : Status{};
}

Status MembersKeeper::retry() {
  return unkept_ ? keep() : Status{};
}

Status MembersKeeper::keep() {
  kept_.hints = hints_.kept();
  Status status = write_kept_members(disk_, kept_);
  unkept_ = status.code() == StatusCode::ResourceExhausted;
  kept_epoch_ = status.ok() ? kept_.view().epoch : kept_epoch_;
  return unkept_ ? Status{} : status;
}

}  // namespace gcoord::server
