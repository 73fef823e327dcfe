#include "server/past_state.h"

#include "rpc/error_codes.h"
#include "server/lock_replies.h"
#include "server/log_record.h"

#include <algorithm>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kReadEntries = 256;  // What a reader gives at once.

// The tables have this shard and no other.
constexpr ShardId kOnly{0};

}  // namespace

PastState::PastState()
    : locks_(locks::LockOptions{.rows_initial = 64}), ended_(locks::kLockEventsPerCommandMax) {}

Status PastState::advance(const ledger::TreeReader& history, LogIndex to, std::uint64_t count) {
  const std::uint64_t last =
      std::min({to.value, history.size(), index_.value + std::min(count, to.value)});
  while (index_.value < last) {
    if (history.first() > index_.value) {
      return rpc::make_error(rpc::ErrorCode::PastCompacted);
    }
    GCOORD_TRY(const auto entries,
               history.entries(index_.value, std::min(kReadEntries, last - index_.value)));
    for (const auto& entry : entries) {
      ++index_;
      GCOORD_TRY_STATUS(apply(entry));
    }
  }
  return {};
}

Status PastState::apply(std::span<const std::byte> entry) {
  const auto header = decode_record_header(entry);
  if (header && header->kind == RecordKind::Restore) {
    return rpc::make_error(rpc::ErrorCode::PastCompacted);
  }
  if (header && header->kind == RecordKind::LockCommand) {
    locks::LockEvents ended{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
    locks_.apply_bytes(kOnly, index_, record_body(entry), Tick{1}, ended);
  }
  return {};
}

std::optional<locks::HeldLock> PastState::get(NameHash name) const {
  return locks_.get(kOnly, name);
}

rpc::CheckVerdict PastState::verdict(NameHash name, FencingToken token) const {
  return plain_verdict(locks_, {kOnly, name, token});
}

}  // namespace gcoord::server
