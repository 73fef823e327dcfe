// Answers what a lock was when its shard's log had come to an index (LockGetAt), from the history
// that the node keeps of its shards (docs/adr/0047).
//
//   request -> refused at once, or a job -> the thread applies entries again, a slice of a job at
//   a time -> advance() answers
//
// A turn never waits for it. Bounded: kPastJobsMax jobs, each with tables of its own, and
// kPastEntriesMax entries a job; beyond the first a request is refused as overload, beyond the
// second with GC6322. A job whose client has stopped waiting is dropped. One thread, the loop's,
// but for the worker inside.
#pragma once

#include "common/metrics.h"
#include "ledger/tree_reader.h"
#include "rpc/error_codes.h"
#include "rpc/past_messages.h"
#include "rpc/request.h"
#include "server/past_state.h"
#include "server/reply_sink.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace gcoord::server {

// Entries that one request may have applied again: a few seconds of the thread.
inline constexpr std::uint64_t kPastEntriesMax = std::uint64_t{4} << 20;

// Jobs at once.
inline constexpr std::size_t kPastJobsMax = 8;

// Entries of a job before the next one has its turn.
inline constexpr std::uint64_t kPastSliceEntries = 65'536;

struct PastReadsOptions {
  std::uint32_t shard_count = 1;
  std::uint64_t entries_max = kPastEntriesMax;
  std::size_t jobs_max = kPastJobsMax;
};

class PastReads {
 public:
  // All outlive it. `applied`, `leads` and `leader_hint` are asked on the loop, `history` by any
  // thread; it is empty where a node's entries are not those of the host's log.
  struct Parts {
    ReplySink& replies;
    MetricsRegistry& metrics;
    std::function<LogIndex(ShardId)> applied;
    std::function<bool(ShardId)> leads;
    std::function<NodeId(ShardId)> leader_hint;
    std::function<std::shared_ptr<const ledger::TreeReader>(ShardId)> history;
    std::function<void()> wake;  // For any thread.
  };

  PastReads(const PastReadsOptions& options, Parts parts);
  ~PastReads();
  PastReads(const PastReads&) = delete;
  PastReads& operator=(const PastReads&) = delete;

  static bool is_request(rpc::RequestKind kind) { return kind == rpc::RequestKind::LockGetAt; }

  // A request whose payload was checked. Answered now or in a later advance().
  void on_request(ConnectionId connection,
                  const rpc::RequestSlot& request,
                  std::span<const std::byte> payload,
                  std::uint64_t now_ms);

  // After each turn. Whether a job waits for entries that are on their way to history.
  bool advance(std::uint64_t now_ms);

  std::size_t job_count() const { return job_count_; }

 private:
  struct Job {
    ConnectionId connection;
    rpc::RequestSlot request;
    ShardId shard;
    NameHash name;
    LogIndex to;
    std::uint64_t deadline_ms = 0;
    std::atomic<bool> given_up{false};  // By the loop.

    // Of the thread, and of the loop once the job is back.
    PastState state;
    Status failure;
  };

  using JobPtr = std::shared_ptr<Job>;

  // Nothing, or why the request cannot become a job.
  rpc::ErrorCode admit(ShardId shard, LogIndex index) const;
  void refuse(const Job& job, const Status& status);
  void answer(Job& job);
  void submit(JobPtr job);
  void run();
  void work(Job& job) const;

  PastReadsOptions options_;
  Parts parts_;
  Counter& reads_;
  Counter& refused_;
  Counter& entries_;
  std::size_t job_count_ = 0;
  std::vector<JobPtr> open_;  // Of the loop: not answered yet.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable work_;
  std::deque<JobPtr> jobs_;
  std::vector<JobPtr> ready_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gcoord::server
