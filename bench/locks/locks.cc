#include "bench/locks/locks.h"

#include "bench/cluster/device_name.h"
#include "bench/lock_turn/apply.h"
#include "bench/lock_turn/device.h"
#include "bench/locks/locks_load.h"
#include "bench/report/results_file.h"
#include "locks/cpu/lock_cpu.h"
#include "locks/state/apply.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {

namespace {

using locks::LockReply;
using Clock = std::chrono::steady_clock;

// Commands of the batches that are measured, and how many of each are.
struct BatchSize {
  std::uint32_t commands;
  std::uint32_t batches;
};

constexpr BatchSize kSizes[] = {{1u << 18, 7}, {1u << 20, 7}, {1u << 22, 3}};

// Batches of a size that the caller chose.
constexpr std::uint32_t kChosenBatches = 3;

// Commands of one batch while the service is being filled.
constexpr std::uint32_t kFillBatch = 1u << 20;

// Who applies batches: LockCpu as a node's host has it, or the tables of a device's turn.
class LockTarget {
 public:
  LockTarget() = default;
  virtual ~LockTarget() = default;
  LockTarget(const LockTarget&) = delete;
  LockTarget& operator=(const LockTarget&) = delete;

  // Puts the batch where the log would leave it.
  virtual Status prepare(const LockLoadBatch& batch) = 0;

  // As LockTurnDevice has it; nothing to a host.
  virtual void apply_together(std::uint32_t /*least*/) {}

  // Applies what was prepared; the only part that is timed.
  virtual Status apply() = 0;
  // Whether every command of the batch was answered as it must be.
  virtual Status check(const LockLoadBatch& batch) = 0;

  // Locks held, and bytes of the tables.
  virtual std::uint64_t held() const = 0;
  virtual std::uint64_t table_bytes() const = 0;
};

Status wrong_answer(std::size_t command, locks::LockCode code) {
  return {StatusCode::Internal,
          "command " + std::to_string(command) + " answered code " +
              std::to_string(static_cast<int>(code)) + ", or its state is another"};
}

class CpuTarget final : public LockTarget {
 public:
  explicit CpuTarget(std::uint32_t shards)
      : locks_({.shard_count = shards, .rows_initial = 1u << 20, .index_seed = 1}) {}

  Status prepare(const LockLoadBatch& batch) override {
    commands_ = batch.commands;
    payload_ = batch.payload;
    replies_.resize(commands_.size());
    for (LoadCommand& entry : commands_) {
      entry.command.name = payload_.data() + entry.name_offset;
    }
    return {};
  }

  Status apply() override {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      replies_[i] = apply_one(commands_[i].shard, commands_[i].index, commands_[i].command);
    }
    return {};
  }

  Status check(const LockLoadBatch& batch) override {
    for (std::size_t i = 0; i < replies_.size(); ++i) {
      if (replies_[i].code != batch.answers[i].code ||
          replies_[i].token != batch.answers[i].token) {
        return wrong_answer(i, replies_[i].code);
      }
    }
    return {};
  }

  std::uint64_t held() const override { return locks_.usage().locks; }

  std::uint64_t table_bytes() const override { return locks_.usage().memory_bytes; }

  LockReply apply_one(ShardId shard, LogIndex index, const locks::LockCommand& command) {
    locks::LockEvents events{events_.data(), locks::kLockEventsPerCommandMax, 0};
    return locks_.apply(shard, index, command, Tick{1}, events);
  }

  std::uint64_t state_hash(ShardId shard) const { return locks_.state_hash(shard); }

 private:
  locks::LockCpu locks_;
  std::vector<LoadCommand> commands_;
  std::string payload_;
  std::vector<LockReply> replies_;
  std::array<locks::LockEvent, locks::kLockEventsPerCommandMax> events_{};
};

// Its answers are compared with those of a LockCpu that applies the same entries: a turn tells its
// host a command's code and the hash of the shard's state, over all replies before.
class TurnTarget final : public LockTarget {
 public:
  TurnTarget(std::unique_ptr<LockTurnDevice> device, std::uint32_t shards)
      : device_(std::move(device)), rows_(shards), twin_(shards) {}

  Status prepare(const LockLoadBatch& batch) override {
    for (const LoadCommand& each : batch.commands) {
      rows_.add(each.shard, named(each, batch));
    }
    rows_.seal();
    return device_->prepare(rows_);
  }

  void apply_together(std::uint32_t least) override { device_->apply_together(least); }

  Status apply() override { return device_->apply(); }

  Status check(const LockLoadBatch& batch) override {
    GCOORD_TRY(const auto results, device_->results());
    for (std::size_t i = 0; i < batch.commands.size(); ++i) {
      const ShardId shard = batch.commands[i].shard;
      const LockTurnRows::Place& place = rows_.places()[i];
      const LockReply wanted = twin_.apply_one(shard, place.index, named(batch.commands[i], batch));
      const server::TurnResult& result = results[place.at];
      const auto code = static_cast<locks::LockCode>(result.word[1] >> 8 & 0xff);
      if (wanted.code != batch.answers[i].code || wanted.token != batch.answers[i].token ||
          code != wanted.code || result.word[0] != twin_.state_hash(shard)) {
        return wrong_answer(i, code);
      }
    }
    return {};
  }

  std::uint64_t held() const override { return twin_.held(); }

  std::uint64_t table_bytes() const override { return device_->table_bytes(); }

 private:
  static locks::LockCommand named(const LoadCommand& each, const LockLoadBatch& batch) {
    locks::LockCommand command = each.command;
    command.name = batch.payload.data() + each.name_offset;
    return command;
  }

  std::unique_ptr<LockTurnDevice> device_;
  LockTurnRows rows_;
  CpuTarget twin_;
};

// Applies a batch; returns its seconds, or how a reply differed.
Result<double> timed(LockTarget& target, const LockLoadBatch& batch) {
  GCOORD_TRY_STATUS(target.prepare(batch));
  const auto began = Clock::now();
  GCOORD_TRY_STATUS(target.apply());
  const std::chrono::duration<double> took = Clock::now() - began;
  GCOORD_TRY_STATUS(target.check(batch));
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

// Commands of each shard.
std::vector<std::uint32_t> commands_by_shard(const LockLoadBatch& batch, std::uint32_t shards) {
  std::vector<std::uint32_t> counts(shards);
  for (const LoadCommand& entry : batch.commands) {
    ++counts[entry.shard.value];
  }
  return counts;
}

// Of one way to apply batches of one size.
struct Measured {
  std::uint32_t together = 0;
  std::vector<double> milliseconds;
  std::vector<double> rates;
};

Json report(const Measured& way, std::uint32_t commands, const std::vector<std::uint32_t>& counts) {
  const std::uint32_t longest = *std::ranges::max_element(counts);
  const double rate = median(way.rates);
  std::fprintf(
      stderr,
      "  %u commands a batch, together from %u entries: %.2f M commands/s; longest run %u\n",
      commands,
      way.together,
      rate / 1e6,
      longest);
  return Json{{"commands_per_batch", commands},
              {"together_from_entries", way.together},
              {"batch_ms", way.milliseconds},
              {"commands_per_s", rounded(rate)},
              {"shards_in_last_batch", counts.size() - std::ranges::count(counts, 0u)},
              {"longest_run_in_last_batch", longest}};
}

// One result for each of the ways, batch by batch in turn.
Result<Json> measure(LockTarget& target,
                     LockLoad& load,
                     const BatchSize& size,
                     const BenchOptions& options) {
  std::vector<Measured> ways;
  for (const std::uint32_t together : options.together) {
    ways.push_back({.together = together});
  }
  std::vector<std::uint32_t> counts;
  for (std::uint32_t k = 0; k < size.batches + 1; ++k) {
    for (Measured& way : ways) {
      target.apply_together(way.together);
      const LockLoadBatch batch = load.commands(size.commands);
      GCOORD_TRY(const double seconds, timed(target, batch));
      if (k == 0) {
        continue;  // Warms caches and the clock of the device.
      }
      way.milliseconds.push_back(rounded(seconds * 1e3));
      way.rates.push_back(size.commands / seconds);
      counts = commands_by_shard(batch, options.shards);
    }
  }
  Json results = Json::array();
  for (const Measured& way : ways) {
    results.push_back(report(way, size.commands, counts));
  }
  return results;
}

// What is to be measured: three sizes, or the one that the caller chose.
std::vector<BatchSize> sizes_of(const BenchOptions& options) {
  if (options.batch != 0) {
    return {{options.batch, kChosenBatches}};
  }
  return {std::begin(kSizes), std::end(kSizes)};
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
           "from decided commands in memory, on a device as entries of its log by shard, to all "
           "answers in memory: applying in log order, and the host's wait"},
          {"not_timed", "consensus, log, network, hashing of names, copies from and to the host"}};
}

Result<std::unique_ptr<LockTarget>> make_target(const BenchOptions& options,
                                                const LockLoadOptions& load) {
  if (options.device == "cpu") {
    return std::unique_ptr<LockTarget>(std::make_unique<CpuTarget>(load.shards));
  }
  GCOORD_TRY(const int number, device_number(options.device));
  const LockTurnPlan plan = lock_turn_plan(
      {.shards = load.shards, .names = load.names, .sessions_per_shard = load.sessions_per_shard});
  GCOORD_TRY(auto device, open_lock_turn_device(number, plan));
  return std::unique_ptr<LockTarget>(std::make_unique<TurnTarget>(std::move(device), load.shards));
}

}  // namespace

BenchResult bench_locks(const BenchOptions& given) {
  BenchOptions options = given;
  if (options.together.empty()) {
    options.together.push_back(kTogetherLeast);
  }
  const LockLoadOptions shape{.names = options.names,
                              .shards = options.shards,
                              .skew = options.skew == "zipf" ? LockSkew::Zipf : LockSkew::Uniform};
  GCOORD_TRY(const auto target, make_target(options, shape));
  LockLoad load(shape);
  GCOORD_TRY_STATUS(fill(*target, load));
  Json runs = Json::array();
  for (const BatchSize& size : sizes_of(options)) {
    GCOORD_TRY(const Json measured, measure(*target, load, size, options));
    for (std::size_t k = 0; k < measured.size(); ++k) {
      runs.push_back(measured[k]);
    }
  }
  Json result{{"device", options.device}};
  merge_members(result, describe(shape, load.top_share()));
  result["replicas"] = 1;
  result["held_locks_at_the_end"] = target->held();
  result["table_bytes"] = target->table_bytes();
  result["runs"] = runs;
  return result;
}

}  // namespace gcoord::bench
