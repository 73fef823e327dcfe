#include "server/access/first_rights.h"

#include "security/roles/command.h"

#include <algorithm>
#include <vector>

namespace gcoord::server {

bool FirstRights::may_propose() const {
  return environment_.log.view(kAccessShard).role == consensus::Role::Leader &&
         environment_.log.abilities().takes_records && environment_.all_have();
}

void FirstRights::advance(std::uint64_t now_ms) {
  now_ms_ = now_ms;
  if (proposed_ != 0 || now_ms < next_ms_) {
    return;
  }
  const auto change = environment_.machine.first_change();
  if (!change) {
    return;
  }
  next_ms_ = now_ms + kEveryMs;
  if (!may_propose()) {
    return;
  }
  proposed_ = cookies_.next();
  const std::vector<std::byte> record = access_record(security::encode_access_command(*change),
                                                      protocol::RecordOrigin::System,
                                                      environment_.wall_ms());
  environment_.log.propose(kAccessShard, record, proposed_);
}

std::uint64_t FirstRights::until_next_deadline_ms() const {
  const bool idle = proposed_ != 0 || !environment_.machine.first_change();
  return idle ? ~std::uint64_t{0} : next_ms_ - std::min(next_ms_, now_ms_);
}

}  // namespace gcoord::server
