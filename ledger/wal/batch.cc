#include "ledger/wal/batch.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/wal/visitor.h"

#include <algorithm>
#include <limits>

namespace gcoord::ledger {
namespace {

// On disk: never renumber.
enum class ItemKind : std::uint8_t {
  HardState = 1,
  Entries = 2,
  Truncate = 3,
  SnapshotInstalled = 4,
  Commit = 5,
};

constexpr std::size_t kHardStateBytes = 1 + 4 + 8 + 4;
constexpr std::size_t kEntriesBytes = 1 + 4 + 8 + 4;
constexpr std::size_t kEntryBytes = 8 + 1 + 4;
constexpr std::size_t kTruncateBytes = 1 + 4 + 8;
constexpr std::size_t kSnapshotBytes = 1 + 4 + 8 + 8 + 4;
constexpr std::size_t kCommitBytes = 1 + 4 + 8;

std::byte* store_item(std::byte* at, ItemKind kind, ShardId shard) {
  return store(store(at, static_cast<std::uint8_t>(kind)), shard.value);
}

std::byte* store_bytes(std::byte* at, std::span<const std::byte> bytes) {
  GCOORD_ASSERT(bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  at = store(at, static_cast<std::uint32_t>(bytes.size()));
  return std::copy(bytes.begin(), bytes.end(), at);
}

// Takes integers and bytes off the front; once something is missing, everything is.
class ItemReader {
 public:
  explicit ItemReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool at_end() const { return whole_ && bytes_.empty(); }

  bool whole() const { return whole_; }

  template <typename T>
  T take() {
    const auto field = take_bytes(sizeof(T));
    return field.size() == sizeof(T) ? load<T>(field.data()) : T{};
  }

  std::span<const std::byte> take_bytes(std::size_t byte_count) {
    if (byte_count > bytes_.size()) {
      whole_ = false;
      bytes_ = {};
      return {};
    }
    const auto front = bytes_.first(byte_count);
    bytes_ = bytes_.subspan(byte_count);
    return front;
  }

 private:
  std::span<const std::byte> bytes_;
  bool whole_ = true;
};

bool visit_hard_state(ItemReader& reader, ShardId shard, WalVisitor& visitor) {
  const Term term{reader.take<std::uint64_t>()};
  const NodeId vote{reader.take<std::uint32_t>()};
  if (reader.whole()) {
    visitor.on_hard_state(shard, term, vote);
  }
  return reader.whole();
}

bool visit_entries(ItemReader& reader, ShardId shard, WalVisitor& visitor) {
  const LogIndex first{reader.take<std::uint64_t>()};
  const auto entry_count = reader.take<std::uint32_t>();
  const bool fits = entry_count <= std::numeric_limits<std::uint64_t>::max() - first.value;
  if (!reader.whole() || first.value == 0 || !fits) {
    return false;
  }
  visitor.on_entries(shard, first, entry_count);
  for (std::uint32_t i = 0; i < entry_count; ++i) {
    const Term term{reader.take<std::uint64_t>()};
    const auto kind = reader.take<std::uint8_t>();
    const auto payload = reader.take_bytes(reader.take<std::uint32_t>());
    if (!reader.whole()) {
      return false;
    }
    visitor.on_entry(shard, first + i, term, kind, payload);
  }
  return true;
}

bool visit_truncate(ItemReader& reader, ShardId shard, WalVisitor& visitor) {
  const LogIndex from{reader.take<std::uint64_t>()};
  if (reader.whole()) {
    visitor.on_truncate(shard, from);
  }
  return reader.whole();
}

bool visit_snapshot(ItemReader& reader, ShardId shard, WalVisitor& visitor) {
  const LogIndex index{reader.take<std::uint64_t>()};
  const Term term{reader.take<std::uint64_t>()};
  const auto state = reader.take_bytes(reader.take<std::uint32_t>());
  if (reader.whole()) {
    visitor.on_snapshot_installed(shard, index, term, state);
  }
  return reader.whole();
}

bool visit_commit(ItemReader& reader, ShardId shard, WalVisitor& visitor) {
  const LogIndex index{reader.take<std::uint64_t>()};
  if (reader.whole()) {
    visitor.on_commit(shard, index);
  }
  return reader.whole();
}

bool visit_item(ItemReader& reader, WalVisitor& visitor) {
  const auto kind = static_cast<ItemKind>(reader.take<std::uint8_t>());
  const ShardId shard{reader.take<std::uint32_t>()};
  if (!reader.whole()) {
    return false;
  }
  switch (kind) {
    case ItemKind::HardState:
      return visit_hard_state(reader, shard, visitor);
    case ItemKind::Entries:
      return visit_entries(reader, shard, visitor);
    case ItemKind::Truncate:
      return visit_truncate(reader, shard, visitor);
    case ItemKind::SnapshotInstalled:
      return visit_snapshot(reader, shard, visitor);
    case ItemKind::Commit:
      return visit_commit(reader, shard, visitor);
  }
  return false;
}

}  // namespace

bool visit_items(std::span<const std::byte> items, WalVisitor& visitor) {
  ItemReader reader{items};
  while (!reader.at_end()) {
    if (!visit_item(reader, visitor)) {
      return false;
    }
  }
  return true;
}

std::byte* WalBatch::extend(std::size_t byte_count) {
  const std::size_t old_bytes = bytes_.size();
  bytes_.resize(old_bytes + byte_count);
  return bytes_.data() + old_bytes;
}

void WalBatch::hard_state(ShardId shard, Term term, NodeId vote) {
  GCOORD_ASSERT(entries_missing_ == 0);
  auto* at = store_item(extend(kHardStateBytes), ItemKind::HardState, shard);
  store(store(at, term.value), vote.value);
  ++item_count_;
}

void WalBatch::begin_entries(ShardId shard, LogIndex first, std::uint32_t entry_count) {
  GCOORD_ASSERT(entries_missing_ == 0);
  GCOORD_ASSERT(first > LogIndex{0});
  auto* at = store_item(extend(kEntriesBytes), ItemKind::Entries, shard);
  store(store(at, first.value), entry_count);
  entries_missing_ = entry_count;
  ++item_count_;
}

void WalBatch::entry(Term term, std::uint8_t kind, std::span<const std::byte> payload) {
  GCOORD_ASSERT(entries_missing_ > 0);
  auto* at = extend(kEntryBytes + payload.size());
  store_bytes(store(store(at, term.value), kind), payload);
  --entries_missing_;
}

void WalBatch::truncate(ShardId shard, LogIndex from) {
  GCOORD_ASSERT(entries_missing_ == 0);
  store(store_item(extend(kTruncateBytes), ItemKind::Truncate, shard), from.value);
  ++item_count_;
}

void WalBatch::snapshot_installed(ShardId shard,
                                  LogIndex index,
                                  Term term,
                                  std::span<const std::byte> state) {
  GCOORD_ASSERT(entries_missing_ == 0);
  auto* at = extend(kSnapshotBytes + state.size());
  at = store_item(at, ItemKind::SnapshotInstalled, shard);
  store_bytes(store(store(at, index.value), term.value), state);
  ++item_count_;
}

void WalBatch::commit(ShardId shard, LogIndex index) {
  GCOORD_ASSERT(entries_missing_ == 0);
  store(store_item(extend(kCommitBytes), ItemKind::Commit, shard), index.value);
  ++item_count_;
}

void WalBatch::append(const WalBatch& other) {
  GCOORD_ASSERT(entries_missing_ == 0);
  GCOORD_ASSERT(other.entries_missing_ == 0);
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  item_count_ += other.item_count_;
}

void WalBatch::clear() {
  bytes_.clear();
  item_count_ = 0;
  entries_missing_ = 0;
}

std::span<const std::byte> WalBatch::encoded() const {
  GCOORD_ASSERT(entries_missing_ == 0);
  return bytes_;
}

}  // namespace gcoord::ledger
