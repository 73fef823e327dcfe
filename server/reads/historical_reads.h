// Answers what a lock was when its shard's log had come to an index (LockGetAt), from the history
// that the node keeps of its shards (docs/adr/0047).
//
//   request -> refused at once, or a job -> [its leadership is confirmed] -> [history comes there]
//   -> the thread applies entries again -> advance() answers
//
// A turn never waits for it. Jobs have their turn one after the other, so that one set of tables is
// alive, which the thread makes and ends. Bounded: kPastJobsMax jobs, kPastEntriesMax entries and
// kPastBytesMax of tables a job; beyond the first a request is refused as overload, beyond the
// others with GC6322. An index beyond what is applied is told as the future when a quorum has
// confirmed that nothing more is decided. A job whose client has stopped waiting is dropped. One
// thread, the loop's, but for the worker inside.
#pragma once

#include "common/host/metrics.h"
#include "ledger/merkle/tree_reader.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/error_codes.h"
#include "protocol/past_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// Entries that one request may have applied again: a few seconds of the thread.
inline constexpr std::uint64_t kPastEntriesMax = std::uint64_t{4} << 20;

// Of the tables that a job applies its entries to: some 2.5 million locks.
inline constexpr std::uint64_t kPastBytesMax = std::uint64_t{512} << 20;

// Jobs at once, of which all but one are a name and an index.
inline constexpr std::size_t kPastJobsMax = 64;

// Entries of a job before the thread looks whether somebody waits for it still.
inline constexpr std::uint64_t kPastSliceEntries = 65'536;

// How often history is asked whether it has come to where a job needs it: about once a tick.
inline constexpr std::uint64_t kPastLookMs = 10;

struct HistoricalReadsOptions {
  std::uint32_t shard_count = 1;
  std::uint64_t entries_max = kPastEntriesMax;
  std::uint64_t bytes_max = kPastBytesMax;
  std::size_t jobs_max = kPastJobsMax;
};

class HistoricalReads {
 public:
  // All outlive it. `applied`, `leads`, `leader_hint` and `confirm` are asked on the loop,
  // `history` by any thread; it is empty where a node keeps none.
  // What `confirm` came to is told to on_confirmed(), once and later.
  struct Environment {
    protocol::ReplySink& replies;
    MetricsRegistry& metrics;
    std::function<LogIndex(ShardId)> applied;
    std::function<bool(ShardId)> leads;
    std::function<NodeId(ShardId)> leader_hint;
    std::function<void(ShardId, std::uint64_t number)> confirm;
    std::function<std::shared_ptr<const ledger::TreeReader>(ShardId)> history;
    std::function<void()> wake;  // For any thread.
  };

  HistoricalReads(const HistoricalReadsOptions& options, Environment parts);
  ~HistoricalReads();
  HistoricalReads(const HistoricalReads&) = delete;
  HistoricalReads& operator=(const HistoricalReads&) = delete;

  // LockGetAt, whose payload was checked. Answered now or in a later advance().
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload,
                  std::uint64_t now_ms);

  // The quorum's word on whether this node leads the shard; OK: everything that was decided before
  // is applied now.
  void on_confirmed(std::uint64_t number, const Status& status, NodeId leader_hint);

  // After each turn.
  void advance(std::uint64_t now_ms);

  // How long the loop may sleep for the sake of advance().
  std::uint64_t until_next_look_ms() const {
    return lagging_.empty() ? ~std::uint64_t{0} : kPastLookMs;
  }

  std::size_t job_count() const { return job_count_; }

 private:
  struct Job {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    ShardId shard;
    NameHash name;
    LogIndex to;
    std::uint64_t deadline_ms = 0;
    std::atomic<bool> given_up{false};  // By the loop.

    // Of the thread, and of the loop once the job is back.
    Status failure;
    std::uint64_t applied_count = 0;
    std::optional<locks::HeldLock> lock;
    std::optional<ShardId> moved_to;
  };

  using JobPtr = std::shared_ptr<Job>;

  // Nothing, or why the request cannot become a job.
  protocol::ErrorCode admit(ShardId shard, LogIndex index) const;
  void begin(JobPtr job);
  void end(const Job& job);
  void end_late(std::uint64_t now_ms);
  void look_at_history(std::uint64_t now_ms);
  bool has_come(const Job& job) const;
  void refuse(const Job& job, const Status& status);
  void answer(const Job& job);
  void submit(JobPtr job);
  void run();
  void work(Job& job) const;

  HistoricalReadsOptions options_;
  Environment environment_;
  Counter& reads_;
  Counter& refused_;
  Counter& entries_;
  std::size_t job_count_ = 0;
  std::vector<JobPtr> open_;                              // Not answered yet.
  std::vector<JobPtr> lagging_;                           // That wait for history.
  std::unordered_map<std::uint64_t, JobPtr> confirming_;  // By the number of their confirmation.
  std::uint64_t confirming_last_ = 0;
  std::uint64_t next_look_ms_ = 0;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable work_;
  std::deque<JobPtr> jobs_;
  std::vector<JobPtr> ready_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gcoord::server
