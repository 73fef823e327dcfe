#include "server/gate/roles_copy.h"

namespace gcoord::server {

namespace {

constexpr ShardId kRolesShard{0};

// While nobody is served for want of the roles. Without a leader that is known nothing is sent.
constexpr std::uint64_t kQuestionsPerLimitWithoutRoles = 64;

}  // namespace

bool RolesCopy::confirmed(std::uint64_t now_us) const {
  const auto age_us = ages_.age_us(kRolesShard, now_us);
  return age_us && *age_us <= limit_us_;
}

void RolesCopy::advance(std::uint64_t now_us) {
  if (confirmed(now_us)) {
    stand_ = RolesStand::Known;
  }
  if (now_us < next_us_) {
    return;
  }
  next_us_ = now_us + limit_us_ / (stand_ == RolesStand::Known ? kQuestionsPerLimit
                                                               : kQuestionsPerLimitWithoutRoles);
  ages_.want(kRolesShard, now_us);
}

std::uint64_t RolesCopy::until_next_ms(std::uint64_t now_us) const {
  return now_us < next_us_ ? (next_us_ - now_us + 999) / 1000 : 0;
}

}  // namespace gcoord::server
