// What the log of record and the checkpoint store cost, on the disk under GCOORD_BENCH_DIR (or
// /tmp).
//
//   TurnsOfEntries/N   N entries of 16 bytes per turn, one record and one fdatasync each
//   GroupCommit/N      the same through the writer thread, N turns submitted before waiting
//   EncodeRecord/N     the same without a disk: the cost of laying out and checksumming
//   CreateLog          a first start: one segment zeroed and synced
//   RecoverLog         reading back N turns of 64 entries
//   LoadCheckpoint     a million shards streamed out of the checkpoint store
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/disk/posix_disk.h"
#include "ledger/wal/writer.h"

#include <benchmark/benchmark.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kPayloadBytes = 16;

class Scratch {
 public:
  Scratch() {
    const char* parent = std::getenv("GCOORD_BENCH_DIR");
    std::string pattern = std::string{parent != nullptr ? parent : "/tmp"} + "/ledger-bench-XXXXXX";
    GCOORD_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }

  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Ignore final : public WalVisitor {
 public:
  void on_hard_state(ShardId, Term, NodeId) override {}

  void on_entries(ShardId, LogIndex, std::uint32_t) override {}

  void on_entry(ShardId, LogIndex, Term, std::uint8_t, std::span<const std::byte>) override {}

  void on_truncate(ShardId, LogIndex) override {}

  void on_snapshot_installed(ShardId, LogIndex, Term, std::span<const std::byte>) override {}
};

void fill(WalBatch& batch, std::uint32_t entry_count) {
  const std::array<std::byte, kPayloadBytes> payload{};
  for (std::uint32_t shard = 0; shard < entry_count; ++shard) {
    batch.begin_entries(ShardId{shard}, LogIndex{1}, 1);
    batch.entry(Term{1}, 0, payload);
  }
}

WalOptions options() {
  WalOptions result;
  result.cluster = ClusterId{1};
  result.node = NodeId{1};
  result.salt_seed = 1;
  return result;
}

void BM_TurnsOfEntries(benchmark::State& state) {
  const Scratch scratch;
  const auto disk = PosixDisk::open_directory(scratch.path()).value();
  Ignore ignore;
  const auto wal = Wal::open(*disk, options(), ignore).value();
  const auto entry_count = static_cast<std::uint32_t>(state.range(0));
  WalBatch batch;
  for ([[maybe_unused]] auto _ : state) {
    batch.clear();
    fill(batch, entry_count);
    GCOORD_ASSERT(wal->append(batch).ok());
    GCOORD_ASSERT(wal->sync().ok());
    GCOORD_ASSERT(wal->drop_through(wal->durable_lsn()).ok());
  }
  state.SetItemsProcessed(state.iterations() * entry_count);
  state.SetBytesProcessed(static_cast<std::int64_t>(wal->appended_bytes()));
}

BENCHMARK(BM_TurnsOfEntries)->Arg(1)->Arg(64)->Arg(4096)->Arg(65536)->UseRealTime();

void BM_GroupCommit(benchmark::State& state) {
  const Scratch scratch;
  const auto disk = PosixDisk::open_directory(scratch.path()).value();
  Ignore ignore;
  WalWriter writer{Wal::open(*disk, options(), ignore).value(), {}};
  WalBatch batch;
  for ([[maybe_unused]] auto _ : state) {
    Lsn last;
    for (std::int64_t turn = 0; turn < state.range(0); ++turn) {
      fill(batch, 16);
      last = writer.submit(std::move(batch));
    }
    while (writer.durable_lsn() < last) {
      pollfd wait{writer.event_fd(), POLLIN, 0};
      GCOORD_ASSERT(::poll(&wait, 1, -1) == 1);
      std::uint64_t count = 0;
      GCOORD_ASSERT(::read(writer.event_fd(), &count, sizeof count) == sizeof count);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 16);
}

BENCHMARK(BM_GroupCommit)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();

void BM_EncodeRecord(benchmark::State& state) {
  WalBatch batch;
  std::vector<std::byte> image;
  for ([[maybe_unused]] auto _ : state) {
    batch.clear();
    fill(batch, static_cast<std::uint32_t>(state.range(0)));
    RecordHeader header;
    header.lsn = Lsn{1};
    encode_record(header, 1, batch.encoded(), image);
    benchmark::DoNotOptimize(image.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(image.size()));
}

BENCHMARK(BM_EncodeRecord)->Arg(1)->Arg(64)->Arg(65536);

void BM_CreateLog(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    const Scratch scratch;
    const auto disk = PosixDisk::open_directory(scratch.path()).value();
    Ignore ignore;
    GCOORD_ASSERT(Wal::open(*disk, options(), ignore).ok());
  }
}

BENCHMARK(BM_CreateLog)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_RecoverLog(benchmark::State& state) {
  const Scratch scratch;
  const auto disk = PosixDisk::open_directory(scratch.path()).value();
  Ignore ignore;
  {
    const auto wal = Wal::open(*disk, options(), ignore).value();
    WalBatch batch;
    fill(batch, 64);
    for (std::int64_t turn = 0; turn < state.range(0); ++turn) {
      GCOORD_ASSERT(wal->append(batch).ok());
    }
    GCOORD_ASSERT(wal->seal().ok());
  }
  for ([[maybe_unused]] auto _ : state) {
    GCOORD_ASSERT(Wal::open(*disk, options(), ignore).ok());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 64);
}

BENCHMARK(BM_RecoverLog)->Arg(50'000)->Unit(benchmark::kMillisecond)->UseRealTime();

class CountShards final : public CheckpointVisitor {
 public:
  void on_shard(ShardId, std::span<const std::byte>, std::span<const std::byte>) override {
    ++count;
  }

  std::uint64_t count = 0;
};

void BM_LoadCheckpoint(benchmark::State& state) {
  const Scratch scratch;
  const auto shard_count = static_cast<std::uint32_t>(state.range(0));
  const std::array<std::byte, 64> value{};
  {
    const auto store = CheckpointStore::open(scratch.path()).value();
    CheckpointBatch batch;
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      batch.put(CheckpointColumn::Hard, ShardId{shard}, value);
      batch.put(CheckpointColumn::Service, ShardId{shard}, value);
      if (shard % 65536 == 65535) {
        GCOORD_ASSERT(store->write(batch).ok());
        batch.clear();
      }
    }
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto store = CheckpointStore::open(scratch.path()).value();
    CountShards counter;
    GCOORD_ASSERT(store->load(counter).ok());
    GCOORD_ASSERT(counter.count == shard_count);
  }
  state.SetItemsProcessed(state.iterations() * shard_count);
}

BENCHMARK(BM_LoadCheckpoint)->Arg(1 << 20)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace gcoord::ledger

BENCHMARK_MAIN();
