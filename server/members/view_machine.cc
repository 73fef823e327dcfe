#include "server/members/view_machine.h"

#include "common/crc32c.h"
#include "common/random.h"
#include "membership/view/part.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"

#include <optional>
#include <utility>

namespace gcoord::server {

namespace {

static_assert(kRecordHeaderBytes + membership::kViewCommandBytesMax <= kCommandBytesMax);

bool is_view_entry(const AppliedEntry& entry) {
  const auto header = decode_record_header(entry.payload);
  return entry.shard == kViewShard && entry.kind == consensus::EntryKind::Command && header &&
         header->kind == RecordKind::View;
}

}  // namespace

std::vector<std::byte> view_record(std::span<const std::byte> command,
                                   protocol::RecordOrigin origin,
                                   std::uint64_t time_ms) {
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + command.size());
  put_record_header(record, {RecordKind::View, origin, time_ms});
  record.insert(record.end(), command.begin(), command.end());
  return record;
}

void ViewMachine::tell() const {
  if (listener_ != nullptr) {
    listener_->on_view();
  }
}

void ViewMachine::apply(const AppliedEntry& entry) {
  const bool own = is_cookie_of(CookieOwner::View, entry.cookie);
  AppliedEntry passed = entry;
  passed.cookie = own ? 0 : entry.cookie;
  inner_.apply(passed);
  if (!is_view_entry(entry)) {
    return;
  }
  const membership::ViewCode code = views_.apply(record_body(entry.payload));
  if (code == membership::ViewCode::Applied) {
    tell();
  }
  if (own && listener_ != nullptr) {
    listener_->on_view_decided(entry.cookie, code);
  }
}

void ViewMachine::on_proposal_failed(std::uint64_t cookie,
                                     const Status& status,
                                     NodeId leader_hint) {
  if (!is_cookie_of(CookieOwner::View, cookie)) {
    inner_.on_proposal_failed(cookie, status, leader_hint);
  } else if (listener_ != nullptr) {
    listener_->on_view_lost(cookie, status, leader_hint);
  }
}

void ViewMachine::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.serialize(shard, bytes);
  add_state(shard, bytes);
}

void ViewMachine::checkpoint(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.checkpoint(shard, bytes);
  add_state(shard, bytes);
}

void ViewMachine::witness_state(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.witness_state(shard, bytes);
  add_state(shard, bytes);
}

void ViewMachine::add_state(ShardId shard, std::vector<std::byte>& bytes) const {
  if (shard == kViewShard) {
    membership::append_view_part(views_, bytes);
  }
}

Status ViewMachine::install(ShardId shard, std::span<const std::byte> bytes) {
  if (shard != kViewShard) {
    return inner_.install(shard, bytes);
  }
  const auto parts = membership::split_view_part(bytes);
  auto state = parts ? membership::ViewCpu::parse(parts->view) : std::nullopt;
  if (!state) {
    return Status{StatusCode::DataLoss,
                  "the cluster view in shard 0 cannot be decoded",
                  kCheckpointImpossible};
  }
  GCOORD_TRY_STATUS(inner_.install(shard, parts->before));
  views_ = *std::move(state);
  tell();
  return Status{};
}

bool ViewMachine::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  if (shard != kViewShard) {
    return inner_.plausible(shard, bytes);
  }
  const auto parts = membership::split_view_part(bytes);
  return parts && membership::ViewCpu::parse(parts->view) && inner_.plausible(shard, parts->before);
}

bool ViewMachine::continues(ShardId shard, std::span<const std::byte> bytes) const {
  const auto parts = shard == kViewShard ? membership::split_view_part(bytes) : std::nullopt;
  return inner_.continues(shard, parts ? parts->before : bytes);
}

std::uint64_t ViewMachine::state_hash(ShardId shard) const {
  const std::uint64_t inner = inner_.state_hash(shard);
  if (shard != kViewShard || views_.is_empty()) {
    return inner;
  }
  std::vector<std::byte> bytes;
  views_.serialize(bytes);
  return mix64(inner ^ crc32c(bytes));
}

}  // namespace gcoord::server
