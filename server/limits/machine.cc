#include "server/limits/machine.h"

#include "common/crc32c.h"
#include "common/random.h"
#include "security/limits/command.h"
#include "security/limits/part.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"

#include <utility>

namespace gcoord::server {

namespace {

static_assert(kRecordHeaderBytes + security::kLimitCommandBytesMax <= kCommandBytesMax);

bool is_limits_entry(const AppliedEntry& entry) {
  const auto header = decode_record_header(entry.payload);
  return entry.shard == kLimitsShard && entry.kind == consensus::EntryKind::Command && header &&
         header->kind == RecordKind::Limits;
}

}  // namespace

std::vector<std::byte> limits_record(std::span<const std::byte> command,
                                     protocol::RecordOrigin origin,
                                     std::uint64_t time_ms) {
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + command.size());
  put_record_header(record, {RecordKind::Limits, origin, time_ms});
  record.insert(record.end(), command.begin(), command.end());
  return record;
}

void LimitsMachine::tell() const {
  if (listener_ != nullptr) {
    listener_->on_limits();
  }
}

void LimitsMachine::apply(const AppliedEntry& entry) {
  const bool own = is_cookie_of(CookieOwner::Limits, entry.cookie);
  AppliedEntry passed = entry;
  passed.cookie = own ? 0 : entry.cookie;
  inner_.apply(passed);
  if (!is_limits_entry(entry)) {
    return;
  }
  const security::LimitCode code = state_.apply(record_body(entry.payload));
  if (code == security::LimitCode::Applied) {
    digest_.reset();
    tell();
  }
  if (own && listener_ != nullptr) {
    listener_->on_limits_decided(entry.cookie, code);
  }
}

void LimitsMachine::on_proposal_failed(std::uint64_t cookie,
                                       const Status& status,
                                       NodeId leader_hint) {
  if (!is_cookie_of(CookieOwner::Limits, cookie)) {
    inner_.on_proposal_failed(cookie, status, leader_hint);
  } else if (listener_ != nullptr) {
    listener_->on_limits_lost(cookie, status, leader_hint);
  }
}

void LimitsMachine::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.serialize(shard, bytes);
  add_state(shard, bytes);
}

void LimitsMachine::checkpoint(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.checkpoint(shard, bytes);
  add_state(shard, bytes);
}

void LimitsMachine::witness_state(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.witness_state(shard, bytes);
  add_state(shard, bytes);
}

void LimitsMachine::add_state(ShardId shard, std::vector<std::byte>& bytes) const {
  if (shard == kLimitsShard) {
    security::append_limits_part(state_, bytes);
  }
}

Status LimitsMachine::install(ShardId shard, std::span<const std::byte> bytes) {
  if (shard != kLimitsShard) {
    return inner_.install(shard, bytes);
  }
  const auto parts = security::split_limits_part(bytes);
  auto state = parts ? security::LimitCpu::parse(parts->limits) : std::nullopt;
  if (!state) {
    return Status{
        StatusCode::DataLoss, "the limits in shard 0 cannot be decoded", kCheckpointImpossible};
  }
  GCOORD_TRY_STATUS(inner_.install(shard, parts->before));
  state_ = *std::move(state);
  digest_.reset();
  tell();
  return Status{};
}

bool LimitsMachine::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  if (shard != kLimitsShard) {
    return inner_.plausible(shard, bytes);
  }
  const auto parts = security::split_limits_part(bytes);
  return parts && security::LimitCpu::parse(parts->limits) &&
         inner_.plausible(shard, parts->before);
}

bool LimitsMachine::continues(ShardId shard, std::span<const std::byte> bytes) const {
  const auto parts = shard == kLimitsShard ? security::split_limits_part(bytes) : std::nullopt;
  return inner_.continues(shard, parts ? parts->before : bytes);
}

std::uint64_t LimitsMachine::state_hash(ShardId shard) const {
  const std::uint64_t inner = inner_.state_hash(shard);
  if (shard != kLimitsShard || state_.is_empty()) {
    return inner;
  }
  if (!digest_) {
    std::vector<std::byte> bytes;
    state_.serialize(bytes);
    digest_ = crc32c(bytes);
  }
  // Apart from those of the view and of users and roles, which mix theirs in the same way.
  return mix64(inner ^ mix64(*digest_));
}

}  // namespace gcoord::server
