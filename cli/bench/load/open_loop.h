// The open loop: begins operations when they are due, whatever became of those before.
//
// Operation k is due at start + k / rate. It goes to a client that is idle; when all are busy it
// waits for the first that is free. Its latency counts from when it was due in either case.
// Threads share the schedule and the clients: each has every so many of both, so nothing is shared
// between them. After the length of the run, what is still due has a second to begin; the rest, and
// what has no answer within its timeout, is unfinished.
#pragma once

#include "cli/bench/load/key_choice.h"
#include "cli/bench/load/own_load.h"
#include "cli/bench/load/plan.h"
#include "cli/bench/load/recorder.h"
#include "cli/bench/load/schedule.h"
#include "cli/bench/load/work.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gcoord::cli {

struct OpenLoopResult {
  explicit OpenLoopResult(std::chrono::milliseconds length) : record(length) {}

  double seconds = 0;  // The length of the run, or less when it was stopped.
  std::uint64_t due = 0;
  // No client was left for it when it was due: all were busy, or taken by those due before.
  std::uint64_t waited_for_client = 0;
  Recorder record;
  Histogram late{Histogram::kFineBits};  // How long after it was due this program saw it.
  OwnLoad own;
  bool stopped = false;

  // Answers per second, of those within the length of the run.
  double answered_per_s() const;

  Bound bound() const;
};

class OpenLoop final : public OperationEnds {
 public:
  // The work outlives it, or is closed before it ends.
  OpenLoop(const BenchPlan& plan, Work& work);

  // One operation of each client, unmeasured: sessions are known and leaders are found then. The
  // first failure, or Unavailable when one has no end in time.
  Status warm_up();

  // Then, once.
  OpenLoopResult run();

  // Ends warm_up() and run() early, with what there is by then. Any thread.
  void stop();

  // Whether nothing more becomes due in this run. Any thread.
  bool all_due();

  void on_end(std::uint32_t client, Moment at, const Status& status) override;

 private:
  // One thread's share of the schedule and of the clients.
  struct Group {
    explicit Group(std::chrono::milliseconds length) : record(length) {}

    ScheduleShare share;
    std::uint64_t count = 0;           // Of its operations in the whole run.
    std::mutex mutex;                  // Guards what follows.
    std::condition_variable sender;    // It was stopped, or nothing is due any more.
    std::condition_variable answered;  // No client is busy.
    std::deque<std::uint32_t> idle;
    std::uint64_t arrived = 0;  // Operations that are due and seen.
    std::uint64_t begun = 0;
    std::uint64_t waited = 0;  // Whatever became of them.
    std::size_t busy = 0;
    bool draining = false;  // Nothing more becomes due.
    bool closed = false;    // Nothing begins any more.
    bool over = false;      // Nothing is recorded any more.
    Recorder record;
    Histogram late{Histogram::kFineBits};
    Status first_failure;  // Of the warm-up.
  };

  struct Lane {
    std::uint64_t number = 0;
    bool busy = false;  // Of its group's mutex.
  };

  struct Next {
    std::uint32_t client = 0;
    std::uint64_t number = 0;
  };

  Group& group_of(std::uint32_t client) { return *groups_[client % groups_.size()]; }

  std::chrono::nanoseconds since_start(Moment at) const { return at - start_; }

  void send(Group& group);
  void note_arrivals(Group& group, Moment now);
  void begin_what_is_due(Group& group);
  std::optional<Next> take_next(Group& group);
  void await_answers(Group& group, Moment until);
  void await_length();
  void collect(Group& group, Moment now, OpenLoopResult& result);

  BenchPlan plan_;
  Work& work_;
  Schedule schedule_;
  KeyChoice keys_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<Group>> groups_;
  Moment start_{};
  std::atomic<bool> warming_{false};
  std::atomic<bool> stopped_{false};
  std::mutex stop_mutex_;
  std::condition_variable stop_called_;
};

}  // namespace gcoord::cli
