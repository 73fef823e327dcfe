#include "server/snapshots/stream.h"

#include "protocol/ledger/snapshot_messages.h"
#include "server/interfaces/errors.h"
#include "server/replicas/ledger_state.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// One is being sent while the next one is made.
constexpr std::size_t kPiecesReadyMax = 2;

// Entries behind the applied index are not part of a snapshot.
class NoEntries final : public HardEntryVisitor {
 public:
  void on_entry(LogIndex, Term, const EntryView&) override {}
};

}  // namespace

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
  const Status loaded = store_.load(*this);
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

Status SnapshotStream::write_shard(ShardId shard,
                                   std::span<const std::byte> hard,
                                   std::span<const std::byte> service) {
  NoEntries no_entries;
  const auto value = decode_hard_value(hard, no_entries);
  const auto state = service_part(shard, service);
  const auto view = view_part(shard, service);
  const auto access = access_part(shard, service);
  const auto limits = limits_part(shard, service);
  if (!value || !state || !view || !access || !limits || shard.value >= header_.shard_count) {
    return {StatusCode::DataLoss,
            "shard " + std::to_string(shard.value) + " has a checkpoint that cannot be decoded",
            kCheckpointImpossible};
  }
  if (value->floor == LogIndex{0}) {
    return {};  // Nothing was applied, so nothing is said.
  }
  ledger::SnapshotFrontier frontier;
  if (frontier_at_) {
    GCOORD_TRY(frontier, frontier_at_(shard, value->floor.value));
  }
  encoder_->shard({.shard = shard,
                   .applied = value->floor,
                   .applied_term = value->floor_term,
                   .term = value->term},
                  *state);
  if (frontier_at_) {
    encoder_->frontier(frontier);
  }
  if (!view->empty()) {
    encoder_->section(ledger::SnapshotKind::View, ledger::kSnapshotPassOver, *view);
  }
  if (!access->empty()) {
    encoder_->section(ledger::SnapshotKind::Access, 0, *access);
  }
  if (!limits->empty()) {
    encoder_->section(ledger::SnapshotKind::Limits, ledger::kSnapshotPassOver, *limits);
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
