#include "server/snapshots/stream.h"

#include "protocol/error_codes.h"
#include "protocol/ledger/snapshot_messages.h"
#include "server/interfaces/errors.h"
#include "server/replicas/ledger_state.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/stored/state.h"
#include "server/resident/stored/turn_mark.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// One is being sent while the next one is made.
constexpr std::size_t kPiecesReadyMax = 2;

// Entries behind the floor are not part of a snapshot; the term of one of them may be.
class TermOf final : public HardEntryVisitor {
 public:
  explicit TermOf(LogIndex index) : index_(index) {}

  void on_entry(LogIndex index, Term term, const EntryView&) override {
    term_ = index == index_ ? term : term_;
  }

  // Term{}: no entry was at the index.
  Term term() const { return term_; }

 private:
  LogIndex index_;
  Term term_;
};

// False: no node writes such a value.
bool take_parts(std::span<const std::byte> bytes, StoredParts& parts) {
  const auto split = split_stored_state(bytes);
  if (split) {
    parts = *split;
  }
  return split.has_value();
}

}  // namespace

// What a snapshot says of a shard.
struct SnapshotStream::ShardParts {
  ledger::SnapshotShard shard;
  std::span<const std::byte> state, view, access, limits;
};

SnapshotStream::SnapshotStream(const ledger::CheckpointStore& store,
                               ledger::SnapshotHeader header,
                               FrontierAt frontier_at,
                               std::function<void()> on_piece)
    : store_(store),
      header_(std::move(header)),
      frontier_at_(std::move(frontier_at)),
      on_piece_(std::move(on_piece)),
      thread_([this] { run(); }) {}

SnapshotStream::~SnapshotStream() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
  }
  taken_.notify_one();
  thread_.join();
}

std::optional<Result<SnapshotPiece>> SnapshotStream::take() {
  std::optional<Result<SnapshotPiece>> taken;
  {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      taken.emplace(std::move(ready_.front()));
      ready_.pop_front();
    } else if (!failure_.ok()) {
      taken.emplace(failure_);
    }
  }
  taken_.notify_one();
  return taken;
}

void SnapshotStream::run() {
  ledger::SnapshotEncoder encoder(header_,
                                  [this](std::span<const std::byte> bytes) { add(bytes); });
  encoder_ = &encoder;
  const auto resident = is_of_resident_turn(store_);
  resident_ = resident.ok() && resident.value();
  const Status loaded = resident.ok() ? store_.load(*this) : resident.status();
  if (!loaded.ok()) {
    return fail(loaded);
  }
  if (wants_more()) {
    encoder.finish();
    hand_over(true);
  }
}

bool SnapshotStream::wants_more() {
  const std::lock_guard lock(mutex_);
  return !given_up_ && failure_.ok();
}

void SnapshotStream::on_shard(ShardId shard,
                              std::span<const std::byte> hard,
                              std::span<const std::byte> service) {
  if (const Status written = write_shard(shard, hard, service); !written.ok()) {
    fail(written);
  }
}

// The state of a resident node may be of a later index than the floor beside it: it came from
// another host. It is as decided, and what stands at its index says of which term it is.
Result<SnapshotStream::ShardParts> SnapshotStream::parts_of(
    ShardId shard, std::span<const std::byte> hard, std::span<const std::byte> service) const {
  StoredParts stored{.head = {}, .pieces = {}, .service = service};
  const bool whole = !resident_ || take_parts(service, stored);
  TermOf at_state(LogIndex{stored.head.index});
  const auto value = decode_hard_value(hard, at_state);
  const auto state = service_part(shard, stored.service);
  const auto view = view_part(shard, stored.service);
  const auto access = access_part(shard, stored.service);
  const auto limits = limits_part(shard, stored.service);
  if (!value || !whole || !state || !view || !access || !limits ||
      shard.value >= header_.shard_count) {
    return Status{
        StatusCode::DataLoss,
        "shard " + std::to_string(shard.value) + " has a checkpoint that cannot be decoded",
        kCheckpointImpossible};
  }
  ShardParts parts{.shard = {.shard = shard,
                             .applied = value->floor,
                             .applied_term = value->floor_term,
                             .term = value->term},
                   .state = *state,
                   .view = *view,
                   .access = *access,
                   .limits = *limits};
  if (resident_ && stored.head.index != value->floor.value) {
    if (at_state.term() == Term{}) {
      return protocol::make_error(protocol::ErrorCode::SnapshotBusy,
                                  "shard " + std::to_string(shard.value));
    }
    parts.shard.applied = LogIndex{stored.head.index};
    parts.shard.applied_term = at_state.term();
  }
  return parts;
}

Status SnapshotStream::write_shard(ShardId shard,
                                   std::span<const std::byte> hard,
                                   std::span<const std::byte> service) {
  GCOORD_TRY(const ShardParts parts, parts_of(shard, hard, service));
  if (parts.shard.applied == LogIndex{0}) {
    return {};  // Nothing was applied, so nothing is said.
  }
  ledger::SnapshotFrontier frontier;
  if (frontier_at_) {
    GCOORD_TRY(frontier, frontier_at_(shard, parts.shard.applied.value));
  }
  encoder_->shard(parts.shard, parts.state);
  if (frontier_at_) {
    encoder_->frontier(frontier);
  }
  if (!parts.view.empty()) {
    encoder_->section(ledger::SnapshotKind::View, ledger::kSnapshotPassOver, parts.view);
  }
  if (!parts.access.empty()) {
    encoder_->section(ledger::SnapshotKind::Access, 0, parts.access);
  }
  if (!parts.limits.empty()) {
    encoder_->section(ledger::SnapshotKind::Limits, ledger::kSnapshotPassOver, parts.limits);
  }
  return {};
}

void SnapshotStream::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t room = protocol::kSnapshotPieceBytesMax - filling_.size();
    const auto part = bytes.first(std::min(room, bytes.size()));
    filling_.insert(filling_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (filling_.size() == protocol::kSnapshotPieceBytesMax) {
      hand_over(false);
    }
  }
}

void SnapshotStream::hand_over(bool last) {
  {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return given_up_ || ready_.size() < kPiecesReadyMax; });
    if (!given_up_) {
      ready_.push_back({std::exchange(filling_, {}), last});
    }
    filling_.clear();
  }
  on_piece_();
}

void SnapshotStream::fail(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure_.ok() ? status : failure_;
  }
  on_piece_();
}

}  // namespace gcoord::server
