#include "cli/bench/load/open_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

BenchPlan plan(std::uint32_t rate, std::uint32_t clients, milliseconds length) {
  BenchPlan plan;
  plan.operation = "test";
  plan.rate = rate;
  plan.clients = clients;
  plan.length = length;
  plan.keys = 10;
  plan.timeout = milliseconds{1};
  return plan;
}

// Ends each operation as the test says, by default at once and well.
class ToldWork : public Work {
 public:
  using Told = std::function<void(ToldWork& work, std::uint32_t client, std::uint64_t number)>;

  explicit ToldWork(Told told = {}) : told_(std::move(told)) {}

  void begin(std::uint32_t client, std::uint32_t key) override {
    EXPECT_LT(key, 10u);
    const std::uint64_t number = begun_.fetch_add(1);
    if (told_) {
      told_(*this, client, number);
    } else {
      finish(client);
    }
  }

  void finish(std::uint32_t client, const Status& status = {}) { end(client, status); }

  void close() override {}

  std::uint64_t begun() const { return begun_.load(); }

 private:
  Told told_;
  std::atomic<std::uint64_t> begun_{0};
};

TEST(OpenLoopTest, EveryOperationThatIsDueIsBegunAndAnswered) {
  ToldWork work;
  OpenLoop loop(plan(1000, 4, milliseconds{200}), work);
  const OpenLoopResult result = loop.run();
  EXPECT_EQ(result.due, 200u);
  EXPECT_EQ(result.record.answered(), 200u);
  EXPECT_EQ(result.record.latency().count(), 200u);
  EXPECT_EQ(result.late.count(), 200u);
  EXPECT_EQ(result.record.unfinished(), 0u);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(work.begun(), 200u);
}

TEST(OpenLoopTest, ThreadsShareTheScheduleAndTheClients) {
  std::mutex mutex;
  std::set<std::uint32_t> clients;
  ToldWork work([&](ToldWork& self, std::uint32_t client, std::uint64_t) {
    {
      const std::lock_guard lock(mutex);
      clients.insert(client);
    }
    self.finish(client);
  });
  BenchPlan several = plan(1000, 6, milliseconds{200});
  several.threads = 4;
  OpenLoop loop(several, work);
  EXPECT_EQ(loop.run().record.answered(), 200u);
  EXPECT_EQ(clients.size(), 6u);
}

// Coordinated omission: the one client hangs with its first operation until all others are due. How
// fast the threads are does not matter: the sender has seen them all by then, and begins none.
TEST(OpenLoopTest, AStallIsChargedToAllThatWasDueMeanwhile) {
  std::thread server;
  OpenLoop* stalled = nullptr;
  ToldWork work([&](ToldWork& self, std::uint32_t client, std::uint64_t number) {
    if (number > 0) {
      return self.finish(client);
    }
    server = std::thread([&self, client, stalled] {
      while (!stalled->all_due()) {
        std::this_thread::yield();
      }
      self.finish(client);
    });
  });
  OpenLoop loop(plan(1000, 1, milliseconds{200}), work);
  stalled = &loop;
  const OpenLoopResult result = loop.run();
  server.join();
  EXPECT_EQ(result.record.answered(), 200u);
  std::uint64_t slow = 0;
  for (const Histogram::Step& step : result.record.latency().steps()) {
    slow += step.most >= milliseconds{100} ? step.count : 0;
  }
  EXPECT_GE(slow, 99u);  // Those due in the first half. A closed loop would show one.
  EXPECT_EQ(result.waited_for_client, 199u);
}

TEST(OpenLoopTest, WhatHasNoAnswerIsUnfinishedAndInTheLatenciesAsALowerBound) {
  ToldWork work([](ToldWork&, std::uint32_t, std::uint64_t) {});
  OpenLoop loop(plan(1000, 1, milliseconds{50}), work);
  const OpenLoopResult result = loop.run();
  EXPECT_EQ(work.begun(), 1u);
  EXPECT_EQ(result.due, 50u);
  EXPECT_EQ(result.record.unfinished(), 50u);
  EXPECT_EQ(result.waited_for_client, 49u) << "in vain";
  EXPECT_EQ(result.record.answered(), 0u);
  EXPECT_GE(result.record.latency().min(), milliseconds{1000});
}

TEST(OpenLoopTest, FailuresAreCountedByTheirCause) {
  ToldWork work([](ToldWork& self, std::uint32_t client, std::uint64_t number) {
    self.finish(client,
                number % 4 == 0 ? Status{StatusCode::Unavailable, "no leader", 5001} : Status{});
  });
  OpenLoop loop(plan(1000, 4, milliseconds{100}), work);
  const OpenLoopResult result = loop.run();
  EXPECT_EQ(result.record.errors(), 25u);
  EXPECT_EQ(result.record.answered(), 75u);
  ASSERT_TRUE(result.record.causes().contains("GC5001"));
  EXPECT_EQ(result.record.causes().at("GC5001").count, 25u);
}

TEST(OpenLoopTest, StopEndsARunWithWhatThereIs) {
  OpenLoop* stopped = nullptr;
  ToldWork work([&stopped](ToldWork& self, std::uint32_t client, std::uint64_t number) {
    self.finish(client);
    if (number == 20) {
      stopped->stop();
    }
  });
  OpenLoop loop(plan(1000, 2, std::chrono::hours{1}), work);
  stopped = &loop;
  const OpenLoopResult result = loop.run();
  EXPECT_TRUE(result.stopped);
  EXPECT_GE(result.record.answered(), 20u);
  EXPECT_LT(result.seconds, 3600);
}

TEST(OpenLoopTest, TheWarmUpIsOneOperationOfEachClientAndUnmeasured) {
  ToldWork work;
  OpenLoop loop(plan(100, 7, milliseconds{100}), work);
  ASSERT_TRUE(loop.warm_up().ok());
  EXPECT_EQ(work.begun(), 7u);
  EXPECT_EQ(loop.run().record.answered(), 10u);
}

TEST(OpenLoopTest, AFailureOfTheWarmUpIsReported) {
  ToldWork work([](ToldWork& self, std::uint32_t client, std::uint64_t) {
    self.finish(client, Status{StatusCode::Unavailable, "no leader", 5001});
  });
  OpenLoop loop(plan(100, 2, milliseconds{100}), work);
  EXPECT_EQ(loop.warm_up().detail(), 5001u);
}

// Operations that end before begin() returns must not nest: a million due ones would.
TEST(OpenLoopTest, ABacklogThatEndsAtOnceDoesNotNest) {
  thread_local int depth = 0;
  std::atomic<int> deepest{0};
  ToldWork work([&deepest](ToldWork& self, std::uint32_t client, std::uint64_t) {
    ++depth;
    deepest.store(std::max(deepest.load(), depth));
    self.finish(client);
    --depth;
  });
  OpenLoop loop(plan(1'000'000, 2, milliseconds{100}), work);
  EXPECT_EQ(loop.run().record.answered(), 100'000u);
  EXPECT_EQ(deepest.load(), 1);
}

TEST(RecorderTest, CausesBeyondTheLimitAreCountedTogether) {
  Recorder record(milliseconds{1000});
  for (std::uint32_t detail = 1; detail <= 100; ++detail) {
    record.record({}, {}, Status{StatusCode::Internal, "made up", detail});
  }
  EXPECT_EQ(record.causes().size(), Recorder::kCausesMax + 1);
  EXPECT_EQ(record.causes().at("others").count, 100 - Recorder::kCausesMax);
}

TEST(RecorderTest, AnIntervalIsASecondOrWhatMakesSixHundred) {
  EXPECT_EQ(Recorder(milliseconds{1}).intervals().size(), 1u);
  EXPECT_EQ(Recorder(std::chrono::seconds{60}).intervals().size(), 60u);
  const Recorder day(std::chrono::hours{24});
  EXPECT_EQ(day.intervals().size(), 600u);
  EXPECT_EQ(day.interval_length(), std::chrono::seconds{144});
}

TEST(OwnLoadTest, AThreadThatWorksIsSeen) {
  const OwnLoadMeter meter;
  const auto until = steady_clock::now() + milliseconds{200};
  while (steady_clock::now() < until) {
  }
  const OwnLoad load = meter.read();
  EXPECT_GT(load.busiest_thread, 0);
  EXPECT_GE(load.cores_used, load.busiest_thread);
  EXPECT_LE(load.machine_busy, 1);
}

}  // namespace
}  // namespace gcoord::cli
