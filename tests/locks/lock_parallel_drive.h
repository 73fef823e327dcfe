// Giving batches to a LockParallel, and comparing what it answers with what LockCpu did.
#pragma once

#include "locks/cpu/lock_cpu.h"
#include "locks/parallel/parallel.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::locks {

// The commands of a batch in host memory.
struct HostBatch {
  std::vector<CommittedCommand> commands;
  std::string payload;

  void add(ShardId shard, LogIndex index, const LockCommand& command) {
    CommittedCommand entry{.command = command, .index = index, .shard = shard};
    entry.name_offset = static_cast<std::uint32_t>(payload.size());
    if (command.name_bytes + command.note_bytes != 0) {
      payload.append(command.name, std::size_t{command.name_bytes} + command.note_bytes);
    }
    entry.command.name = nullptr;
    commands.push_back(entry);
  }
};

// What a batch answered, in host memory.
struct HostOutcome {
  std::vector<LockReply> replies;
  std::vector<LockEvent> events;
  std::uint32_t refused_count = 0;
  std::uint32_t run_count = 0;
  std::uint32_t unknown_count = 0;
  std::uint32_t planned_count = 0;
};

// Gives batches to a LockParallel and fetches what it answers.
class ParallelDrive {
 public:
  explicit ParallelDrive(std::unique_ptr<LockParallel> locks) : locks_(std::move(locks)) {}

  void apply(const HostBatch& batch, HostOutcome& out) {
    const std::size_t bytes = batch.commands.size() * sizeof(CommittedCommand);
    auto commands = locks_->device().reserve(bytes);
    auto payload = locks_->device().reserve(batch.payload.size() + 1);
    ASSERT_TRUE(commands.ok());
    ASSERT_TRUE(payload.ok());
    ASSERT_TRUE(
        locks_->device().copy_in(commands.value().get(), batch.commands.data(), bytes).ok());
    ASSERT_TRUE(locks_->device()
                    .copy_in(payload.value().get(), batch.payload.data(), batch.payload.size())
                    .ok());
    const auto outcome = locks_->apply(static_cast<const CommittedCommand*>(commands.value().get()),
                                       static_cast<const char*>(payload.value().get()),
                                       static_cast<std::uint32_t>(batch.commands.size()));
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    out.replies.resize(batch.commands.size());
    out.events.resize(outcome.value().event_count);
    out.refused_count = outcome.value().refused_count;
    out.run_count = outcome.value().run_count;
    out.unknown_count = outcome.value().unknown_count;
    out.planned_count = outcome.value().planned_count;
    fetch(out.replies, outcome.value().replies);
    fetch(out.events, outcome.value().events);
  }

  LockParallel& locks() { return *locks_; }

 private:
  template <typename T>
  void fetch(std::vector<T>& to, const T* from) {
    if (!to.empty()) {
      ASSERT_TRUE(locks_->device().copy_out(to.data(), from, to.size() * sizeof(T)).ok());
    }
  }

  std::unique_ptr<LockParallel> locks_;
};

// Rows are a node's own business, so changed_row is not compared.
inline void expect_same(const HostOutcome& device, const HostOutcome& cpu) {
  ASSERT_EQ(device.replies.size(), cpu.replies.size());
  for (std::size_t i = 0; i < cpu.replies.size(); ++i) {
    ASSERT_EQ(device.replies[i].code, cpu.replies[i].code) << "command " << i;
    ASSERT_EQ(device.replies[i].token, cpu.replies[i].token) << "command " << i;
    ASSERT_EQ(device.replies[i].holder, cpu.replies[i].holder) << "command " << i;
    ASSERT_EQ(device.replies[i].more, cpu.replies[i].more) << "command " << i;
    ASSERT_EQ(device.replies[i].replayed, cpu.replies[i].replayed) << "command " << i;
    ASSERT_EQ(device.replies[i].change, cpu.replies[i].change) << "command " << i;
  }
  ASSERT_EQ(device.events.size(), cpu.events.size());
  for (std::size_t i = 0; i < cpu.events.size(); ++i) {
    ASSERT_EQ(device.events[i].code, cpu.events[i].code) << "event " << i;
    ASSERT_EQ(device.events[i].shard, cpu.events[i].shard) << "event " << i;
    ASSERT_EQ(device.events[i].session, cpu.events[i].session) << "event " << i;
    ASSERT_EQ(device.events[i].sequence, cpu.events[i].sequence) << "event " << i;
    ASSERT_EQ(device.events[i].name, cpu.events[i].name) << "event " << i;
    ASSERT_EQ(device.events[i].token, cpu.events[i].token) << "event " << i;
  }
}

inline void expect_same_state(LockParallel& device, const LockCpu& cpu, std::uint32_t shard_count) {
  auto image = device.image();
  ASSERT_TRUE(image.ok()) << image.status().message();
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    ASSERT_EQ(image.value().state_hash(ShardId{shard}), cpu.state_hash(ShardId{shard}));
    ASSERT_EQ(image.value().serialize(ShardId{shard}), cpu.serialize(ShardId{shard}));
  }
  const auto usage = device.usage();
  ASSERT_TRUE(usage.ok());
  EXPECT_EQ(usage.value().locks, cpu.usage().locks);
  EXPECT_EQ(usage.value().waiters, cpu.usage().waiters);
  EXPECT_EQ(usage.value().sessions, cpu.usage().sessions);
  EXPECT_EQ(usage.value().requests, cpu.usage().requests);
  EXPECT_EQ(usage.value().name_blocks, cpu.usage().name_blocks);
}

}  // namespace gcoord::locks
