#include "bench/locks/locks.h"

#include "bench/cluster/device_name.h"
#include "bench/locks/locks_load.h"
#include "bench/report/results_file.h"
#include "locks/cpu/lock_cpu.h"
#include "locks/parallel/cuda.h"
#include "locks/parallel/parallel.h"
#include "locks/state/apply.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

using locks::CommittedCommand;
using locks::LockReply;
using Clock = std::chrono::steady_clock;

// Commands of the batches that are measured, and how many of each are.
struct BatchSize {
  std::uint32_t commands;
  std::uint32_t batches;
};

constexpr BatchSize kSizes[] = {{1u << 18, 7}, {1u << 20, 7}, {1u << 22, 3}};
constexpr std::uint32_t kBatchMax = 1u << 22;

// Commands of one batch while the service is being filled.
constexpr std::uint32_t kFillBatch = 1u << 20;

// Who applies batches: LockCpu, or LockParallel on a GPU.
class LockTarget {
 public:
  LockTarget() = default;
  virtual ~LockTarget() = default;
  LockTarget(const LockTarget&) = delete;
  LockTarget& operator=(const LockTarget&) = delete;

  // Puts the batch where the log would leave it.
  virtual Status prepare(const LockLoadBatch& batch) = 0;
  // Applies what was prepared; the only part that is timed.
  virtual Status apply() = 0;
  virtual Result<std::vector<LockReply>> replies() = 0;
  virtual Result<locks::LockUsage> usage() = 0;

  // Shards that had a command in the last batch.
  virtual std::uint32_t run_count() const { return 0; }

  // Commands of the last batch that were decided many at once.
  virtual std::uint32_t planned_count() const { return 0; }
};

class CpuTarget final : public LockTarget {
 public:
  explicit CpuTarget(std::uint32_t shards)
      : locks_({.shard_count = shards, .rows_initial = 1u << 20, .index_seed = 1}) {}

  Status prepare(const LockLoadBatch& batch) override {
    commands_ = batch.commands;
    payload_ = batch.payload;
    replies_.resize(commands_.size());
    for (CommittedCommand& entry : commands_) {
      entry.command.name = payload_.data() + entry.name_offset;
    }
    return {};
  }

  Status apply() override {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      locks::LockEvents events{events_.data(), locks::kLockEventsPerCommandMax, 0};
      const CommittedCommand& entry = commands_[i];
      replies_[i] = locks_.apply(entry.shard, entry.index, entry.command, Tick{1}, events);
    }
    return {};
  }

  Result<std::vector<LockReply>> replies() override { return replies_; }

  Result<locks::LockUsage> usage() override { return locks_.usage(); }

 private:
  locks::LockCpu locks_;
  std::vector<CommittedCommand> commands_;
  std::string payload_;
  std::vector<LockReply> replies_;
  std::array<locks::LockEvent, locks::kLockEventsPerCommandMax> events_{};
};

class DeviceTarget final : public LockTarget {
 public:
  static Result<std::unique_ptr<LockTarget>> make(int number, const LockLoadOptions& load) {
    GCOORD_TRY(auto device, locks::make_cuda_lock_device(number));
    const std::uint32_t sessions = load.shards * load.sessions_per_shard;
    const std::uint32_t held = load.names / 4 * 3 + kBatchMax;
    GCOORD_TRY(auto made,
               locks::LockParallel::make(std::move(device),
                                         {.shard_count = load.shards,
                                          .batch_max = kBatchMax,
                                          .locks_initial = held,
                                          .sessions_initial = sessions,
                                          .requests_initial = sessions + kBatchMax,
                                          .name_blocks_initial = held,
                                          .index_seed = 1}));
    return std::unique_ptr<LockTarget>(std::make_unique<DeviceTarget>(std::move(made)));
  }

  explicit DeviceTarget(std::unique_ptr<locks::LockParallel> made) : locks_(std::move(made)) {}

  Status prepare(const LockLoadBatch& batch) override {
    count_ = static_cast<std::uint32_t>(batch.commands.size());
    const std::size_t command_bytes = batch.commands.size() * sizeof(CommittedCommand);
    GCOORD_TRY(commands_, locks_->device().reserve(command_bytes));
    GCOORD_TRY(payload_, locks_->device().reserve(batch.payload.size()));
    GCOORD_TRY_STATUS(
        locks_->device().copy_in(commands_.get(), batch.commands.data(), command_bytes));
    return locks_->device().copy_in(payload_.get(), batch.payload.data(), batch.payload.size());
  }

  Status apply() override {
    GCOORD_TRY(outcome_,
               locks_->apply(static_cast<const CommittedCommand*>(commands_.get()),
                             static_cast<const char*>(payload_.get()),
                             count_));
    return {};
  }

  Result<std::vector<LockReply>> replies() override {
    std::vector<LockReply> replies(count_);
    GCOORD_TRY_STATUS(
        locks_->device().copy_out(replies.data(), outcome_.replies, count_ * sizeof(LockReply)));
    return replies;
  }

  Result<locks::LockUsage> usage() override { return locks_->usage(); }

  std::uint32_t run_count() const override { return outcome_.run_count; }

  std::uint32_t planned_count() const override { return outcome_.planned_count; }

 private:
  std::unique_ptr<locks::LockParallel> locks_;
  locks::LockMemory commands_;
  locks::LockMemory payload_;
  locks::LockBatchOutcome outcome_;
  std::uint32_t count_ = 0;
};

// Applies a batch; returns its seconds, or how a reply differed.
Result<double> timed(LockTarget& target, const LockLoadBatch& batch) {
  GCOORD_TRY_STATUS(target.prepare(batch));
  const auto began = Clock::now();
  GCOORD_TRY_STATUS(target.apply());
  const std::chrono::duration<double> took = Clock::now() - began;
  GCOORD_TRY(const auto replies, target.replies());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].code != batch.answers[i].code || replies[i].token != batch.answers[i].token) {
      return Status{StatusCode::Internal,
                    "command " + std::to_string(i) + " answered code " +
                        std::to_string(static_cast<int>(replies[i].code)) + ", token " +
                        std::to_string(replies[i].token.value)};
    }
  }
  return took.count();
}

Status fill(LockTarget& target, LockLoad& load) {
  for (LockLoadBatch batch = load.registrations(kFillBatch); !batch.commands.empty();
       batch = load.registrations(kFillBatch)) {
    GCOORD_TRY_STATUS(timed(target, batch).status());
  }
  for (LockLoadBatch batch = load.first_holds(kFillBatch); !batch.commands.empty();
       batch = load.first_holds(kFillBatch)) {
    GCOORD_TRY_STATUS(timed(target, batch).status());
  }
  return {};
}

// Commands of the shard with the most of them.
std::uint32_t longest_run(const LockLoadBatch& batch, std::uint32_t shards) {
  std::vector<std::uint32_t> counts(shards);
  for (const CommittedCommand& entry : batch.commands) {
    ++counts[entry.shard.value];
  }
  return *std::max_element(counts.begin(), counts.end());
}

Result<Json> measure(LockTarget& target,
                     LockLoad& load,
                     const BatchSize& size,
                     std::uint32_t shards) {
  std::vector<double> milliseconds;
  std::vector<double> rates;
  std::uint32_t longest = 0;
  for (std::uint32_t k = 0; k < size.batches + 1; ++k) {
    const LockLoadBatch batch = load.commands(size.commands);
    GCOORD_TRY(const double seconds, timed(target, batch));
    if (k == 0) {
      continue;  // Warms caches and the clock of the device.
    }
    milliseconds.push_back(rounded(seconds * 1e3));
    rates.push_back(size.commands / seconds);
    longest = longest_run(batch, shards);
  }
  const double rate = median(rates);
  std::fprintf(stderr,
               "  %u commands a batch: %.2f M commands/s; longest run %u\n",
               size.commands,
               rate / 1e6,
               longest);
  return Json{{"commands_per_batch", size.commands},
              {"batch_ms", milliseconds},
              {"commands_per_s", rounded(rate)},
              {"shards_in_last_batch", target.run_count()},
              {"longest_run_in_last_batch", longest},
              {"decided_in_windows_in_last_batch", target.planned_count()}};
}

Json describe(const LockLoadOptions& load, double top_share) {
  return {{"names", load.names},
          {"name_bytes", "16 random hexadecimal characters"},
          {"skew", load.skew == LockSkew::Zipf ? "Zipf, exponent 0.99" : "uniform"},
          {"top_name_share", rounded(top_share)},
          {"shards", load.shards},
          {"sessions_registered", load.shards * load.sessions_per_shard},
          {"commands",
           "acquires and releases of one name in turn, half of the names held at the start; each "
           "session has its answer before its next command"},
          {"timed",
           "from decoded commands in memory to all replies in memory: grouping by shard, applying "
           "in log order, replies, the host's wait"},
          {"not_timed", "log, network, decoding, hashing of names, copies from and to the host"}};
}

Result<std::unique_ptr<LockTarget>> make_target(const BenchOptions& options,
                                                const LockLoadOptions& load) {
  if (options.device == "cpu") {
    return std::unique_ptr<LockTarget>(std::make_unique<CpuTarget>(load.shards));
  }
  GCOORD_TRY(const int device, device_number(options.device));
  return DeviceTarget::make(device, load);
}

}  // namespace

BenchResult bench_locks(const BenchOptions& options) {
  const LockLoadOptions shape{.names = options.names,
                              .shards = options.shards,
                              .skew = options.skew == "zipf" ? LockSkew::Zipf : LockSkew::Uniform};
  GCOORD_TRY(const auto target, make_target(options, shape));
  LockLoad load(shape);
  GCOORD_TRY_STATUS(fill(*target, load));
  Json runs = Json::array();
  for (const BatchSize& size : kSizes) {
    GCOORD_TRY(const Json run, measure(*target, load, size, shape.shards));
    runs.push_back(run);
  }
  GCOORD_TRY(const locks::LockUsage usage, target->usage());
  Json result{{"device", options.device}};
  merge_members(result, describe(shape, load.top_share()));
  result["replicas"] = 1;
  result["held_locks_at_the_end"] = usage.locks;
  result["table_bytes"] = usage.memory_bytes;
  result["runs"] = runs;
  return result;
}

}  // namespace gcoord::bench
