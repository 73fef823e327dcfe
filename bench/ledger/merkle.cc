#include "bench/ledger/merkle.h"

#include "bench/cluster/device_name.h"
#include "bench/report/results_file.h"
#include "common/random.h"
#include "ledger/trees/cpu.h"
#include "ledger/trees/cuda.h"
#include "ledger/trees/trees.h"

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

constexpr std::uint32_t kTurns = 33;  // The first is not timed.
constexpr std::uint32_t kRecordBytes = ledger::kOneBlockRecordBytes;
// Beside them on the CPU, where bench/hashing.py holds both against openssl speed.
constexpr std::uint32_t kLongRecordBytes = 1024;
constexpr std::uint32_t kBatches[] = {1, 4, 16};

// The same number of random records for every shard, at every turn.
struct Load {
  std::vector<std::uint32_t> shard;
  std::vector<std::uint32_t> first{0};
  std::vector<ledger::LeafExtent> leaves;
  std::vector<std::byte> payload;

  Load(std::uint32_t shards, std::uint32_t batch, std::uint32_t record_bytes) {
    const std::size_t stride = (record_bytes + 7) / 8 * 8;
    payload.resize(std::size_t{shards} * batch * stride);
    for (std::size_t i = 0; i < payload.size(); ++i) {
      payload[i] = static_cast<std::byte>(random64(20261122, batch, i / 8) >> (i % 8 * 8));
    }
    for (std::uint32_t s = 0; s < shards; ++s) {
      shard.push_back(s);
      for (std::uint32_t k = 0; k < batch; ++k) {
        leaves.push_back({std::uint64_t{leaves.size()} * stride, record_bytes});
      }
      first.push_back(static_cast<std::uint32_t>(leaves.size()));
    }
  }
};

// Nodes that n leaves complete in a tree that begins empty.
std::uint64_t nodes_of(std::uint64_t leaf_count) {
  return leaf_count - static_cast<std::uint64_t>(__builtin_popcountll(leaf_count));
}

Result<std::unique_ptr<ledger::MerkleDevice>> device_of(const BenchOptions& options) {
  if (options.device == "cpu") {
    return ledger::make_cpu_merkle_device();
  }
  GCOORD_TRY(const int number, device_number(options.device));
  return ledger::make_cuda_merkle_device(number);
}

// Of this thread's processor where it does the work itself, so that others beside it do not count;
// of the clock where it waits for a device.
double seconds_now(bool on_cpu) {
  timespec now{};
  clock_gettime(on_cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Blocks of SHA-256 in a leaf: a prefix, an end mark and eight bytes of length are beside it.
std::uint64_t leaf_compressions(std::uint32_t record_bytes) {
  return (record_bytes + 1 + 9 + 63) / 64;
}

Result<Json> measure(const BenchOptions& options, std::uint32_t batch, std::uint32_t record_bytes) {
  const Load load(options.shards, batch, record_bytes);
  const bool on_cpu = options.device == "cpu";
  GCOORD_TRY(auto device, device_of(options));
  GCOORD_TRY(
      auto trees,
      ledger::MerkleTrees::make(std::move(device),
                                {.shard_count = options.shards,
                                 .levels = 16,
                                 .leaves_max = static_cast<std::uint32_t>(load.leaves.size()),
                                 .payload_bytes_max = load.payload.size()}));
  GCOORD_TRY_STATUS(trees->take({load.shard, load.first, load.leaves, load.payload}));
  std::vector<double> append_s;
  std::vector<double> root_s;
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    double began = seconds_now(on_cpu);
    GCOORD_TRY_STATUS(trees->append());
    append_s.push_back(seconds_now(on_cpu) - began);
    began = seconds_now(on_cpu);
    GCOORD_TRY_STATUS(trees->fold_roots());
    root_s.push_back(seconds_now(on_cpu) - began);
  }
  double timed_s = 0;
  for (std::uint32_t turn = 1; turn < kTurns; ++turn) {
    timed_s += append_s[turn];
  }
  const std::uint64_t leaves = load.leaves.size() * (kTurns - 1);
  const std::uint64_t nodes =
      options.shards * (nodes_of(std::uint64_t{batch} * kTurns) - nodes_of(batch));
  const double compressions =
      static_cast<double>(leaf_compressions(record_bytes) * leaves + 2 * nodes);
  return Json{
      {"record_bytes", record_bytes},
      {"leaves_per_shard_and_turn", batch},
      {"leaves_per_second", rounded(static_cast<double>(leaves) / timed_s)},
      {"leaves_and_nodes_per_second", rounded(static_cast<double>(leaves + nodes) / timed_s)},
      {"compressions_per_second", rounded(compressions / timed_s)},
      {"append_us_median", rounded(median(append_s) * 1e6)},
      {"roots_us_last_turn", rounded(root_s.back() * 1e6)},
      {"device_bytes", trees->memory_bytes()}};
}

}  // namespace

BenchResult bench_merkle(const BenchOptions& options) {
  Json result = {{"device", options.device},
                 {"shards", options.shards},
                 {"turns", kTurns - 1},
                 {"acknowledged", "nothing: hashing alone, one replica"}};
  for (const std::uint32_t record_bytes : {kRecordBytes, kLongRecordBytes}) {
    if (record_bytes == kLongRecordBytes && options.device != "cpu") {
      break;  // A million shards' would be 16 GB.
    }
    for (const std::uint32_t batch : kBatches) {
      GCOORD_TRY(const Json one, measure(options, batch, record_bytes));
      std::fprintf(stderr, "merkle: %s\n", one.dump().c_str());
      result["batches"].push_back(one);
    }
  }
  return result;
}

}  // namespace gcoord::bench
