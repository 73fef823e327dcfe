#include "server/access/machine.h"

#include "common/crc32c.h"
#include "common/random.h"
#include "security/roles/command.h"
#include "security/roles/part.h"
#include "server/access/recovery.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"

#include <utility>

namespace gcoord::server {

namespace {

static_assert(kRecordHeaderBytes + security::kAccessCommandBytesMax <= kCommandBytesMax);

bool is_access_entry(const AppliedEntry& entry) {
  const auto header = decode_record_header(entry.payload);
  return entry.shard == kAccessShard && entry.kind == consensus::EntryKind::Command && header &&
         header->kind == RecordKind::Access;
}

}  // namespace

std::vector<std::byte> access_record(std::span<const std::byte> command,
                                     protocol::RecordOrigin origin,
                                     std::uint64_t time_ms) {
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + command.size());
  put_record_header(record, {RecordKind::Access, origin, time_ms});
  record.insert(record.end(), command.begin(), command.end());
  return record;
}

void AccessMachine::tell() const {
  if (listener_ != nullptr) {
    listener_->on_access();
  }
}

void AccessMachine::apply(const AppliedEntry& entry) {
  const bool own = is_cookie_of(CookieOwner::Access, entry.cookie);
  AppliedEntry passed = entry;
  passed.cookie = own ? 0 : entry.cookie;
  inner_.apply(passed);
  if (!is_access_entry(entry)) {
    return;
  }
  const security::AccessCode code = state_.apply(record_body(entry.payload));
  if (code == security::AccessCode::Applied) {
    digest_.reset();
    tell();
  }
  if (own && listener_ != nullptr) {
    listener_->on_access_decided(entry.cookie, code);
  }
}

void AccessMachine::on_proposal_failed(std::uint64_t cookie,
                                       const Status& status,
                                       NodeId leader_hint) {
  if (!is_cookie_of(CookieOwner::Access, cookie)) {
    inner_.on_proposal_failed(cookie, status, leader_hint);
  } else if (listener_ != nullptr) {
    listener_->on_access_lost(cookie, status, leader_hint);
  }
}

void AccessMachine::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.serialize(shard, bytes);
  add_state(shard, bytes);
}

void AccessMachine::checkpoint(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.checkpoint(shard, bytes);
  add_state(shard, bytes);
}

void AccessMachine::witness_state(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.witness_state(shard, bytes);
  add_state(shard, bytes);
}

void AccessMachine::add_state(ShardId shard, std::vector<std::byte>& bytes) const {
  if (shard == kAccessShard) {
    security::append_access_part(state_, bytes);
  }
}

Status AccessMachine::install(ShardId shard, std::span<const std::byte> bytes) {
  if (shard != kAccessShard) {
    return inner_.install(shard, bytes);
  }
  const auto parts = security::split_access_part(bytes);
  auto state = parts ? security::AccessCpu::parse(parts->access) : std::nullopt;
  if (!state) {
    return Status{StatusCode::DataLoss,
                  "the users and roles in shard 0 cannot be decoded",
                  kCheckpointImpossible};
  }
  GCOORD_TRY_STATUS(inner_.install(shard, parts->before));
  state_ = *std::move(state);
  digest_.reset();
  tell();
  return Status{};
}

bool AccessMachine::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  if (shard != kAccessShard) {
    return inner_.plausible(shard, bytes);
  }
  const auto parts = security::split_access_part(bytes);
  return parts && security::AccessCpu::parse(parts->access) &&
         inner_.plausible(shard, parts->before);
}

bool AccessMachine::continues(ShardId shard, std::span<const std::byte> bytes) const {
  const auto parts = shard == kAccessShard ? security::split_access_part(bytes) : std::nullopt;
  return inner_.continues(shard, parts ? parts->before : bytes);
}

std::uint64_t AccessMachine::state_hash(ShardId shard) const {
  const std::uint64_t inner = inner_.state_hash(shard);
  if (shard != kAccessShard || state_.is_empty()) {
    return inner;
  }
  if (!digest_) {
    std::vector<std::byte> bytes;
    state_.serialize(bytes);
    digest_ = crc32c(bytes);
  }
  // Apart from that of the view, which mixes its own in the same way.
  return mix64(inner ^ mix64(*digest_));
}

void AccessMachine::on_peer_message(NodeId from, std::span<const std::byte> message) {
  if (message.empty() || message.front() != kRecoveryKind) {
    inner_.on_peer_message(from, message);
  } else if (listener_ != nullptr) {
    listener_->on_recovery_message(from, message);
  }
}

}  // namespace gcoord::server
