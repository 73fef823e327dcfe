#include "server/limits/accounts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gcoord::server {

using security::Limit;
using security::LimitScope;

namespace {

// Of the hand, for one newcomer.
constexpr std::size_t kStepsMax = 1024;

}  // namespace

void LimitAccounts::assign(const security::LimitTable& table, std::uint64_t now_us) {
  principals_.clear();
  std::map<std::string, PrefixBucket, std::less<>> prefixes;
  std::set<std::size_t, std::greater<>> lengths;
  for (const auto& [key, limit] : table.limits) {
    if (key.scope == LimitScope::Principal) {
      principals_.emplace(key.name, limit);
    } else if (key.scope == LimitScope::Prefix) {
      const auto before = prefixes_.find(key.name);
      prefixes.emplace(
          key.name,
          PrefixBucket{.rate = rate_of(limit),
                       .bucket = before == prefixes_.end() ? TokenBucket{limit.burst, now_us}
                                                           : before->second.bucket,
                       .prefix = key.name});
      lengths.insert(key.name.size());
    }
  }
  prefixes_ = std::move(prefixes);
  prefix_lengths_.assign(lengths.begin(), lengths.end());
  limits_ = !principals_.empty() || !prefixes_.empty();
  limits_bytes_ =
      std::ranges::any_of(principals_, [](const auto& row) { return row.second.bytes != 0; });
  for (LimitAccount* account : ring_) {
    const bool unlimited = account->limit.rate == 0;
    account->limit = limit_of(account->name);
    account->counted_ms = 0;
    account->locks_left = 0;
    account->waiters_left = 0;
    if (unlimited) {
      account->bucket = TokenBucket{account->limit.burst, now_us};
    }
  }
}

const Limit& LimitAccounts::limit_of(std::string_view name) const {
  static const Limit kNone;
  const bool nobody = name.starts_with(kNobodyMark);
  auto found = principals_.find(nobody ? security::kNobodyName : name);
  if (found == principals_.end()) {
    found = principals_.find(security::kEachName);
  }
  return found == principals_.end() ? kNone : found->second;
}

// Those with connections stay; there may be more of them than kAccountsMax.
void LimitAccounts::make_room(std::uint64_t now_us) {
  for (std::size_t step = 0; step < kStepsMax && ring_.size() >= kAccountsMax; ++step) {
    hand_ = hand_ < ring_.size() ? hand_ : 0;
    LimitAccount& account = *ring_[hand_];
    const bool full =
        account.limit.rate == 0 || account.bucket.is_full(rate_of(account.limit), now_us);
    if (account.connections != 0 || (std::exchange(account.used, false) && !full)) {
      ++hand_;
      continue;
    }
    ring_[hand_] = ring_.back();
    ring_.pop_back();
    const std::string name = account.name;
    accounts_.erase(name);
  }
}

LimitAccount& LimitAccounts::find(const std::string& name, std::uint64_t now_us) {
  if (const auto found = accounts_.find(name); found != accounts_.end()) {
    found->second->used = true;
    return *found->second;
  }
  make_room(now_us);
  auto account = std::make_unique<LimitAccount>();
  account->name = name;
  account->limit = limit_of(name);
  account->bucket = TokenBucket{account->limit.burst, now_us};
  LimitAccount& made = *account;
  ring_.push_back(&made);
  accounts_.emplace(name, std::move(account));
  return made;
}

LimitAccounts::PrefixBucket* LimitAccounts::prefix_of(std::string_view name) {
  for (const std::size_t length : prefix_lengths_) {
    if (length > name.size()) {
      continue;
    }
    if (const auto found = prefixes_.find(name.substr(0, length)); found != prefixes_.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

}  // namespace gcoord::server
