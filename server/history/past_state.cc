#include "server/history/past_state.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/entry_walk.h"
#include "protocol/error_codes.h"
#include "server/history/record_text.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/replies.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// The tables have this shard and no other.
constexpr ShardId kOnly{0};

// A past that was pruned, before or while it was read, is one that is not there.
Status told(const Status& status) {
  return status.detail() == ledger::kLedgerPruned
             ? protocol::make_error(protocol::ErrorCode::PastCompacted)
             : status;
}

}  // namespace

PastState::PastState(std::uint64_t bytes_max)
    : bytes_max_(bytes_max),
      locks_(locks::LockOptions{.rows_initial = 64}),
      ended_(locks::kLockEventsPerCommandMax) {}

Status PastState::advance(const ledger::TreeReader& history, LogIndex to, std::uint64_t count) {
  const std::uint64_t end = std::min(to.value, index_.value + std::min(count, to.value));
  return told(ledger::walk_entries(
      history,
      index_.value,
      end,
      [] { return true; },
      [this](std::span<const std::byte> entry) { return apply(entry); }));
}

Status PastState::apply(std::span<const std::byte> entry) {
  locks::LockEvents ended{ended_.data(), static_cast<std::uint32_t>(ended_.size()), 0};
  const locks::LockCommand* const command = device_.take(index_, entry);
  const auto header = is_device_entry(entry) ? std::nullopt : decode_record_header(entry);
  if (command != nullptr) {
    locks_.apply(kOnly, index_, *command, Tick{1}, ended);
  } else if (header && header->kind == RecordKind::Restore) {
    return protocol::make_error(protocol::ErrorCode::PastCompacted);
  } else if (header && header->kind == RecordKind::LockCommand) {
    locks_.apply_bytes(kOnly, index_, record_body(entry), Tick{1}, ended);
  }
  return locks_.usage().memory_bytes > bytes_max_
             ? protocol::make_error(protocol::ErrorCode::PastTooLong,
                                    "its tables outgrow the memory for it")
             : Status{};
}

std::optional<locks::HeldLock> PastState::get(NameHash name) const {
  return locks_.get(kOnly, name);
}

std::optional<ShardId> PastState::moved_to(NameHash name) const {
  const auto residence = locks_.residence(kOnly, name);
  const bool away = residence.has_value() && residence->residence == locks::Residence::Away;
  return away ? std::optional{residence->away_to} : std::nullopt;
}

protocol::CheckVerdict PastState::verdict(NameHash name, FencingToken token) const {
  return plain_verdict(locks_, {kOnly, name, token});
}

}  // namespace gcoord::server
