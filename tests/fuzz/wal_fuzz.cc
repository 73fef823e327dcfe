// Any bytes as a segment of the log of record, and any bytes as the items of a record.
//
// First input byte even: the rest is the file of segment 1. Odd: the rest is one batch of items.
// Whatever recovery accepts it must accept again, unchanged and clean.
#include "ledger/disk/memory_disk.h"
#include "ledger/wal/visitor.h"
#include "ledger/wal/wal.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace gcoord::ledger {
namespace {

// Small, so that an input covers a good part of a segment.
constexpr std::uint64_t kSegmentBytes = 4 * kPageBytes;

WalOptions options() {
  WalOptions result;
  result.cluster = ClusterId{7};
  result.node = NodeId{1};
  result.salt_seed = 42;
  result.segment_bytes = kSegmentBytes;
  return result;
}

// Folds everything it is told into one number, touching every payload byte.
class Digest final : public WalVisitor {
 public:
  void on_record(Lsn lsn) override { add(lsn.value); }

  void on_hard_state(ShardId shard, Term term, NodeId vote) override {
    add(shard.value);
    add(term.value);
    add(vote.value);
  }

  void on_entries(ShardId shard, LogIndex first, std::uint32_t entry_count) override {
    add(shard.value);
    add(first.value);
    add(entry_count);
  }

  void on_entry(ShardId shard,
                LogIndex index,
                Term term,
                std::uint8_t kind,
                std::span<const std::byte> payload) override {
    add(shard.value);
    add(index.value);
    add(term.value + kind);
    add_bytes(payload);
  }

  void on_truncate(ShardId shard, LogIndex from) override {
    add(shard.value);
    add(from.value);
  }

  void on_snapshot_installed(ShardId shard,
                             LogIndex index,
                             Term term,
                             std::span<const std::byte> state) override {
    add(shard.value);
    add(index.value);
    add(term.value);
    add_bytes(state);
  }

  std::uint64_t value() const { return value_; }

 private:
  void add(std::uint64_t word) { value_ = mix64(value_ ^ word); }

  void add_bytes(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      add(std::to_integer<std::uint64_t>(byte));
    }
  }

  std::uint64_t value_ = 0;
};

WalBatch batch(std::uint64_t number) {
  WalBatch result;
  result.hard_state(ShardId{1}, Term{number}, NodeId{2});
  result.begin_entries(ShardId{2}, LogIndex{number}, 2);
  const std::vector<std::byte> payload(number * 150, std::byte{0x61});
  result.entry(Term{number}, 1, payload);
  result.entry(Term{number}, 2, {});
  result.truncate(ShardId{3}, LogIndex{number});
  result.snapshot_installed(ShardId{4}, LogIndex{9}, Term{number}, payload);
  return result;
}

std::vector<std::byte> valid_image() {
  MemoryDisk disk;
  Digest ignored;
  auto wal = Wal::open(disk, options(), ignored).value();
  for (std::uint64_t number = 1; number <= 4; ++number) {
    GCOORD_ASSERT(wal->append(batch(number)).ok());
    GCOORD_ASSERT(number == 4 || wal->sync().ok());
  }
  return disk.image(segment_name(1));
}

void open_twice(std::span<const std::byte> image) {
  MemoryDisk disk;
  disk.set_image(segment_name(1), image);
  Digest first;
  WalRecovery report;
  if (!Wal::open(disk, options(), first, &report).ok()) {
    return;
  }
  GCOORD_ASSERT(report.outcome != WalOutcome::Rot);
  Digest second;
  GCOORD_ASSERT(Wal::open(disk, options(), second, &report).ok());
  GCOORD_ASSERT(report.outcome == WalOutcome::Clean);
  GCOORD_ASSERT(report.repaired_count == 0);
  GCOORD_ASSERT(first.value() == second.value());
}

}  // namespace
}  // namespace gcoord::ledger

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  using namespace gcoord::ledger;
  const auto input = std::as_bytes(std::span{bytes, byte_count});
  if (input.empty()) {
    open_twice(input);
    return 0;
  }
  const auto rest = input.subspan(1);
  if (std::to_integer<unsigned>(input[0]) % 2 == 1) {
    Digest digest;
    (void)visit_items(rest, digest);  // Either answer is right; surviving is the test.
    return 0;
  }
  open_twice(rest);
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  using namespace gcoord::ledger;
  FuzzInput segment{0};
  for (const std::byte byte : valid_image()) {
    segment.push_back(std::to_integer<std::uint8_t>(byte));
  }
  FuzzInput cut(segment.begin(), segment.begin() + 1 + kRecordsOffset + 3 * kSectorBytes);
  FuzzInput items{1};
  const WalBatch encoded = batch(2);
  for (const std::byte byte : encoded.encoded()) {
    items.push_back(std::to_integer<std::uint8_t>(byte));
  }
  return {segment, cut, items, FuzzInput{0}, FuzzInput{1}};
}
