#include "server/history/publication_service.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/random.h"
#include "ledger/heads/message.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/passing_machine.h"

#include <optional>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kLengthBytes = 4;

static_assert(kRecordHeaderBytes + kPublicationEntryBytesMax <= kCommandBytesMax);

// The bytes of shard 0 in their two parts.
struct Parts {
  std::span<const std::byte> inner;
  PublicationState state;
};

std::optional<Parts> divide(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return Parts{};
  }
  if (bytes.size() < kLengthBytes) {
    return std::nullopt;
  }
  const auto length = load<std::uint32_t>(&bytes[bytes.size() - kLengthBytes]);
  const auto body = bytes.first(bytes.size() - kLengthBytes);
  if (length > body.size()) {
    return std::nullopt;
  }
  auto state = PublicationState::parse(body.last(length));
  return state ? std::optional(Parts{body.first(body.size() - length), *std::move(state)})
               : std::nullopt;
}

// What the entry says of the cluster log; nothing for all others.
std::optional<PublicationEntry> publication_of(const AppliedEntry& entry) {
  if (entry.shard != kPublicationShard || entry.kind != consensus::EntryKind::Command) {
    return std::nullopt;
  }
  const auto header = decode_record_header(entry.payload);
  const bool meant = header && header->kind == RecordKind::Publication;
  return meant ? decode_publication_entry(record_body(entry.payload)) : std::nullopt;
}

// A piece of what stands behind it, perhaps of a round: were it published, each round would make
// shard 0 worth another one, for ever.
bool says_nothing(const AppliedEntry& entry) {
  if (entry.kind != consensus::EntryKind::Command || !entry.payload.empty() ||
      entry.leaf.size() != kRecordHeaderBytes) {
    return false;  // Nearly every entry.
  }
  const auto leaf = decode_record_header(entry.leaf);
  return leaf && leaf->kind == RecordKind::Part;
}

}  // namespace

std::vector<std::byte> publication_record(std::span<const std::byte> entry, std::uint64_t time_ms) {
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + entry.size());
  put_record_header(record, {RecordKind::Publication, protocol::RecordOrigin::System, time_ms});
  record.insert(record.end(), entry.begin(), entry.end());
  return record;
}

void PublicationService::set_listener(PublicationListener* listener) {
  listener_ = listener;
  if (listener_ != nullptr) {
    for (const RoundEntry& round : std::exchange(kept_, {})) {
      listener_->on_publication_round(round);
    }
    listener_->on_publication_state(state_);
    listener_->on_publisher(publisher_);
  }
}

void PublicationService::tell_state() {
  if (listener_ != nullptr) {
    listener_->on_publication_state(state_);
  }
}

void PublicationService::apply(const AppliedEntry& entry) {
  apply_behind(inner_, CookieOwner::Publication, entry);
  if (const auto publication = publication_of(entry)) {
    const bool taken = state_.apply(*publication);
    const auto* round = std::get_if<RoundEntry>(&*publication);
    if (taken && round != nullptr && listener_ != nullptr) {
      listener_->on_publication_round(*round);
    } else if (taken && round != nullptr) {
      kept_.push_back(*round);
    }
    tell_state();
  } else if (listener_ != nullptr && !says_nothing(entry)) {
    listener_->on_applied(entry.shard, entry.index.value);
  }
}

void PublicationService::on_proposal_failed(std::uint64_t cookie,
                                            const Status& status,
                                            NodeId leader_hint) {
  if (cookie != kPublicationCookie) {
    inner_.on_proposal_failed(cookie, status, leader_hint);
  } else if (listener_ != nullptr) {
    listener_->on_publication_lost();
  }
}

void PublicationService::on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  inner_.on_read(cookie, status, leader_hint);
}

void PublicationService::on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) {
  inner_.on_role(shard, role, term, leader);
  if (shard != kPublicationShard) {
    return;
  }
  publisher_ = role == consensus::Role::Leader;
  if (listener_ != nullptr) {
    listener_->on_publisher(publisher_);
  }
}

void PublicationService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  inner_.serialize(shard, bytes);
  add_state(shard, begin, bytes);
}

void PublicationService::checkpoint(ShardId shard, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  inner_.checkpoint(shard, bytes);
  add_state(shard, begin, bytes);
}

void PublicationService::add_state(ShardId shard,
                                   std::size_t begin,
                                   std::vector<std::byte>& bytes) const {
  if (shard != kPublicationShard || (bytes.size() == begin && state_ == PublicationState{})) {
    return;
  }
  const std::size_t middle = bytes.size();
  state_.serialize(bytes);
  const auto length = static_cast<std::uint32_t>(bytes.size() - middle);
  bytes.resize(bytes.size() + kLengthBytes);
  store(&bytes[bytes.size() - kLengthBytes], length);
}

Status PublicationService::install(ShardId shard, std::span<const std::byte> bytes) {
  if (shard != kPublicationShard) {
    return inner_.install(shard, bytes);
  }
  auto parts = divide(bytes);
  if (!parts) {
    return Status{StatusCode::DataLoss,
                  "the publication's state in shard 0 cannot be decoded",
                  kCheckpointImpossible};
  }
  GCOORD_TRY_STATUS(inner_.install(shard, parts->inner));
  state_ = std::move(parts->state);
  kept_.clear();
  tell_state();
  return Status{};
}

bool PublicationService::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  if (shard != kPublicationShard) {
    return inner_.plausible(shard, bytes);
  }
  const auto parts = divide(bytes);
  return parts && inner_.plausible(shard, parts->inner);
}

bool PublicationService::continues(ShardId shard, std::span<const std::byte> bytes) const {
  const auto parts = shard == kPublicationShard ? divide(bytes) : std::nullopt;
  return inner_.continues(shard, parts ? parts->inner : bytes);
}

std::uint64_t PublicationService::state_hash(ShardId shard) const {
  const std::uint64_t inner = inner_.state_hash(shard);
  if (shard != kPublicationShard || state_ == PublicationState{}) {
    return inner;
  }
  std::vector<std::byte> bytes;
  state_.serialize(bytes);
  return mix64(inner ^ crc32c(bytes));
}

void PublicationService::on_peer_message(NodeId from, std::span<const std::byte> message) {
  const bool meant = !message.empty() && message.front() == kPublicationKind;
  if (!meant) {
    inner_.on_peer_message(from, message);
  } else if (listener_ != nullptr) {
    listener_->on_publication_message(from, message);
  }
}

void PublicationService::on_loop_gap(std::uint64_t ticks) {
  inner_.on_loop_gap(ticks);
}

}  // namespace gcoord::server
