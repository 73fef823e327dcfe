// Events that the ring no longer has, made again from the history of their shard.
//
// A job is one shard of one watch. The thread applies the shard's entries, from its first on, to a
// machine of the job's own, and hands back what the watch is about in batches; the next batch is
// made when the job is submitted again, so that who reads slowly holds one batch and no more.
// What is applied is decided and never changes, so a job needs no lock of the node's.
//
// submit(), taken() and the destructor belong to one thread; `wake` is called from the replay's.
#pragma once

#include "ledger/merkle/tree_reader.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/watch_messages.h"
#include "server/history/device_commands.h"
#include "server/watch/changes.h"
#include "server/watch/target.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gcoord::server {

// Entries that a watch may have applied again for it: some ten seconds of work.
inline constexpr std::uint64_t kReplayEntriesMax = std::uint64_t{16} << 20;

// A batch ends at about so many bytes of events, or after so many entries.
inline constexpr std::size_t kReplayBatchBytes = std::size_t{1} << 20;
inline constexpr std::uint64_t kReplayBatchEntries = 65'536;

struct WatchReplayJob {
  std::uint64_t watch = 0;  // Whose it is, for its owner.
  ShardId shard;
  LogIndex from;                      // The first revision wanted,
  LogIndex to;                        // and the last.
  WatchFilter filter;                 // Its `arrival` is 0 from where the lock has come.
  std::atomic<bool> given_up{false};  // By the owner: the thread drops the job.

  // Of the owner.
  bool begun = false;
  bool resting = false;  // It was taken back and not submitted again.

  // Of the one who has the job.
  std::vector<WatchNotice> batch;
  bool done = false;  // Nothing follows the batch.
  Status failure;     // History could not be read.

  // Of the thread.
  std::uint64_t next = 0;  // The entry to be applied next, from 0.
  std::unique_ptr<locks::LockCpu> machine;
  DeviceCommands device;  // Of leaves that are entries of a device.
  WatchChanges changes;
};

class WatchReplay {
 public:
  using Reader = std::function<std::shared_ptr<const ledger::TreeReader>(ShardId)>;

  WatchReplay(Reader reader, std::function<void()> wake);
  ~WatchReplay();
  WatchReplay(const WatchReplay&) = delete;
  WatchReplay& operator=(const WatchReplay&) = delete;

  // Whether the shard's events from its first entry up to a revision can be made.
  bool can(ShardId shard, LogIndex to) const;

  void submit(std::shared_ptr<WatchReplayJob> job);

  // Jobs with a batch. One whose history is not written yet comes back with an empty one.
  std::vector<std::shared_ptr<WatchReplayJob>> taken();

 private:
  void run();
  void advance(WatchReplayJob& job);
  void apply(WatchReplayJob& job, std::span<const std::byte> entry);

  Reader reader_;
  std::function<void()> wake_;
  std::vector<locks::LockEvent> ended_;  // Of the thread, kept warm.
  std::mutex mutex_;                     // Guards what follows.
  std::condition_variable work_;
  std::deque<std::shared_ptr<WatchReplayJob>> jobs_;
  std::vector<std::shared_ptr<WatchReplayJob>> ready_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gcoord::server
