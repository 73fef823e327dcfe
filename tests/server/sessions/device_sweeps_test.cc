// What a node's device looks at beside stepping: the same ends and the same deadlocks as without
// one, and a full stop when it fails. Over the stand-in everywhere, over a GPU where there is one.
#include "server/sessions/device_sweeps.h"

#include "common/device/device_errors.h"
#include "common/random.h"
#include "locks/commands/ends.h"
#include "protocol/session_messages.h"
#include "sessions/sweep_guard.h"
#include "tests/server/deadlocks/deadlock_cluster.h"
#include "tests/sessions/sweep_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using sessions::SweepDevice;

// Whatever their size, and every time the host looks, too.
DeviceSweepsOptions all_of_them() {
  return {.rows_min = 0, .edges_min = 0, .check_one_in = 1, .clock_us = {}};
}

class SweepsOfNodeTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto device = sessions::sweep_device_of(GetParam()); !device.ok()) {
      GTEST_SKIP() << "skipped: " << device.status().message();
    }
  }

  void give_device(LockService& service, DeviceFaultPlan plan = {}) {
    const Status started = service.sweeps().start(
        sessions::guard_sweep_device(sessions::sweep_device_of(GetParam()).value(), plan),
        all_of_them());
    ASSERT_TRUE(started.ok()) << started.to_string();
  }
};

// Two nodes that live through the same, one of which has a device.
class Twins {
 public:
  Twins() {
    for (LockBench* bench : {&plain, &swept}) {
      bench->lead_all();
    }
  }

  template <typename Change>
  void both(const Change& change) {
    change(plain);
    change(swept);
  }

  void acquire(std::uint64_t session, std::uint32_t ttl_ms) {
    const std::string name =
        "of/" + std::to_string(session) + "/" + std::to_string(sequences_[session]);
    const std::uint64_t sequence = ++sequences_[session];
    both([&](LockBench& bench) { bench.acquire(session, sequence, name, 0, ttl_ms); });
  }

  void keep_alive(std::uint64_t session) {
    const std::vector<SessionId> sessions = {SessionId{session}};
    std::vector<std::byte> answers[2];
    std::size_t answered = 0;
    both([&](LockBench& bench) {
      const auto reply = bench.sink.take(bench.send(bench.slot(protocol::RequestKind::KeepAlive),
                                                    protocol::encode_keep_alive(sessions)));
      answers[answered++] = {reply.payload.begin(), reply.payload.end()};
    });
    EXPECT_EQ(answers[0], answers[1]);
    const auto missed = protocol::decode_keep_alive_reply(answers[1]);
    ASSERT_TRUE(missed.ok());
    if (missed.value().empty()) {
      heard_us_[session] = swept.now_us;
    }
  }

  // Time goes by, and what it ends is compared, ended and judged.
  void pass_ms(std::uint64_t ms) {
    both([ms](LockBench& bench) { bench.pass_ms(ms); });
    const auto& expected = plain.engine.proposals;
    const auto& got = swept.engine.proposals;
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(expected[k].shard, got[k].shard);
      ASSERT_EQ(expected[k].command, got[k].command);
      judge(locks::decode(record_body(got[k].command)).value());
    }
    both([](LockBench& bench) { bench.decide(); });
  }

  LockBench plain;
  LockBench swept;
  std::size_t ended = 0;

 private:
  void judge(const locks::LockCommand& command) {
    if (command.kind == locks::LockCommandKind::ExpireSession) {
      return judge(command.session);
    }
    if (command.kind == locks::LockCommandKind::ExpireSessions) {
      for (std::uint32_t k = 0; k < locks::ends_count(command); ++k) {
        judge(locks::session_end(command, k).session);
      }
    }
  }

  // S8: who was heard within the shortest TTL of all lives on.
  void judge(SessionId session) {
    ++ended;
    const auto heard = heard_us_.find(session.value);
    if (heard != heard_us_.end()) {
      EXPECT_GE(swept.now_us, heard->second + kTtlMsLeast * 1000) << session.value;
    }
  }

 public:
  static constexpr std::uint32_t kTtlMsLeast = 200;

 private:
  std::map<std::uint64_t, std::uint64_t> heard_us_;  // Last keep-alive that was not missed.
  std::map<std::uint64_t, std::uint64_t> sequences_;
};

TEST_P(SweepsOfNodeTest, S8TheSameSessionsEndAtTheSameTicks) {
  Twins twins;
  give_device(*twins.swept.service);
  for (std::uint64_t round = 0; round < 400; ++round) {
    const std::uint64_t random = random64(7, round, 0);
    for (std::uint64_t k = 0; k < 3; ++k) {
      const std::uint64_t draw = random64(7, round, 1 + k);
      twins.acquire(1 + draw % 120,
                    Twins::kTtlMsLeast + static_cast<std::uint32_t>(draw >> 32) % 800);
    }
    for (std::uint64_t k = 0; k < 20; ++k) {
      twins.keep_alive(1 + random64(8, round, k) % 120);
    }
    if (round % 50 == 49) {
      const ShardId shard{static_cast<std::uint32_t>(random % 4)};
      twins.both(
          [shard](LockBench& bench) { bench.engine.follow(*bench.service, shard, NodeId{1}); });
      twins.pass_ms(10);
      twins.both([shard](LockBench& bench) { bench.engine.lead(*bench.service, shard); });
    }
    if (round % 90 == 89) {
      twins.both([](LockBench& bench) { bench.service->on_loop_gap(30); });
    }
    twins.pass_ms(10 + random % 3 * 10);
    ASSERT_FALSE(HasFatalFailure()) << round;
  }
  EXPECT_GT(twins.ended, 100u);
  const DeviceSweeps::Report report = twins.swept.service->sweeps().report();
  EXPECT_TRUE(report.on_device);
  EXPECT_GT(report.sessions, 50u);
  EXPECT_GE(report.checked, report.sessions);
  EXPECT_EQ(twins.plain.service->sweeps().report().sessions, 0u);
}

// One more, by whoever looks for circles: every node here has a device, and asks it.
TEST_P(SweepsOfNodeTest, L18TheSameCirclesEndInTheSameWaits) {
  constexpr std::uint64_t kSessions = 30;
  DeadlockCluster plain(3);
  DeadlockCluster swept(3);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    give_device(*swept.node(node).service);
  }
  std::vector<std::pair<DeadlockCluster::Asked, DeadlockCluster::Asked>> asked;
  const auto ask = [&](std::uint64_t session, const std::string& name) {
    asked.emplace_back(plain.ask(session, name), swept.ask(session, name));
  };
  for (std::uint64_t k = 0; k < kSessions; ++k) {
    ask(100 + k, name_in(k % 4, static_cast<std::uint32_t>(k / 4)));
  }
  for (std::uint64_t k = 0; k < 2 * kSessions; ++k) {
    const std::uint64_t wanted = random64(9, k, 0) % kSessions;
    ask(100 + k % kSessions, name_in(wanted % 4, static_cast<std::uint32_t>(wanted / 4)));
    plain.pass_ms(20);
    swept.pass_ms(20);
  }
  for (int look = 0; look < 4; ++look) {
    plain.look();
    swept.look();
  }
  std::size_t deadlocked = 0;
  for (const auto& [one, other] : asked) {
    const bool ended = plain.deadlocked(one);
    EXPECT_EQ(ended, swept.deadlocked(other)) << one.name << " by " << one.session;
    EXPECT_EQ(plain.answered(one), swept.answered(other));
    deadlocked += ended ? 1 : 0;
    if (ended) {
      EXPECT_EQ(plain.text(), swept.text());
    }
  }
  EXPECT_GT(deadlocked, 0u);
  EXPECT_EQ(plain.report(1), swept.report(1));
  std::uint64_t searches = 0;
  for (std::uint32_t node = 1; node <= 3; ++node) {
    searches += swept.node(node).service->sweeps().report().waits;
    EXPECT_TRUE(swept.node(node).service->sweeps().failure().ok());
  }
  EXPECT_GT(searches, 0u);
}

// Each call in turn, the first of them and one while sessions end.
TEST_P(SweepsOfNodeTest, AFailedCallIsAFullStopWithANumber) {
  for (const auto kind : {DeviceFaultPlan::Kind::Call, DeviceFaultPlan::Kind::Hang}) {
    const bool call = kind == DeviceFaultPlan::Kind::Call;
    for (std::uint64_t number = 1; number <= (call ? 12 : 5); ++number) {
      LockBench bench;
      bench.lead_all();
      give_device(*bench.service, {.kind = kind, .number = number});
      bench.acquire(1, 1, "a", 0, 200);
      bench.decide();
      for (int k = 0; k < 100 && bench.service->sweeps().failure().ok(); ++k) {
        bench.acquire(2, 1u + static_cast<unsigned>(k), "b" + std::to_string(k), 0, 300);
        bench.decide();
        bench.pass_ms(10);
      }
      const Status& failure = bench.service->sweeps().failure();
      ASSERT_FALSE(failure.ok()) << call << ' ' << number;
      EXPECT_EQ(failure.detail(), call ? kDeviceFailed : kDeviceOverrun) << failure.to_string();
      const std::size_t before = bench.engine.proposals.size();
      bench.pass_ms(5000);
      EXPECT_EQ(bench.engine.proposals.size(), before);  // Nobody ends by what it says.
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SweepsOfNodeTest, testing::Values("host", "cuda"));

// A stand-in whose memory or answers may be other than they should be.
class BentDevice final : public sessions::SweepDeviceOverHost {
 public:
  enum class Bend : std::uint8_t { None, Full, Forgets, Stale, Lies };

  explicit BentDevice(Bend bend) : bend_(bend) {}

  Result<sessions::SweepMemory> reserve(std::size_t bytes) override {
    return bend_ == Bend::Full ? Status{StatusCode::ResourceExhausted, "no room"}
                               : SweepDeviceOverHost::reserve(bytes);
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    if (bend_ == Bend::Forgets) {
      std::memset(to, 0xff, bytes);
      return {};
    }
    if (bend_ == Bend::Stale && copies_++ > 0) {
      return {};
    }
    return SweepDeviceOverHost::copy_in(to, from, bytes);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    if (bend_ == Bend::Lies) {
      std::memset(to, 0, bytes);
      return {};
    }
    return SweepDeviceOverHost::copy_out(to, from, bytes);
  }

 private:
  Bend bend_;
  std::uint64_t copies_ = 0;
};

class BentSweeps {
 public:
  explicit BentSweeps(BentDevice::Bend bend, DeviceSweepsOptions options = all_of_them())
      : BentSweeps(std::unique_ptr<SweepDevice>(std::make_unique<BentDevice>(bend)),
                   std::move(options)) {}

  // As a device was opened, or was not.
  explicit BentSweeps(Result<std::unique_ptr<SweepDevice>> opened,
                      DeviceSweepsOptions options = all_of_them())
      : started(sweeps.start(std::move(opened), std::move(options))) {
    clock.reserve(100);
    clock.on_registered(
        {.row = locks::SessionRow{1}, .shard = ShardId{1}, .session = SessionId{1}, .ttl_ms = 100},
        Tick{1},
        true);
  }

  std::size_t collect(std::uint64_t tick) {
    std::vector<sessions::ExpiryProposal> out(10);
    return sweeps.collect_due(clock, Tick{tick}, out);
  }

  // Two who wait for each other.
  Result<sessions::WaitFindings> search() {
    const sessions::WaitEdge edges[] = {{0, 1}, {1, 0}};
    const std::uint8_t any[] = {0, 0};
    return sweeps.search(edges, any);
  }

  // Two find each other and a session that ran out ends, whoever looks.
  void expect_the_host_alone() {
    EXPECT_EQ(collect(5), 0u);
    EXPECT_EQ(collect(100), 1u);
    EXPECT_FALSE(sweeps.report().on_device);
    const auto found = search();
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().cycles.on_cycle.size(), 2u);
    EXPECT_EQ(found.value().choices, (std::vector<std::uint32_t>{1, 0}));
    EXPECT_TRUE(sweeps.failure().ok());
    EXPECT_EQ(metrics.gauge({"gcoord_server_device_sweeps_alone", "", "", ""}).value(), 1);
  }

  MetricsRegistry metrics;
  DeviceSweeps sweeps{metrics};
  Status started;
  sessions::SessionClock clock{{.tick_ms = 10}};
};

TEST(DeviceSweeps, ASessionThatTheDeviceForgotIsFoundByTheHost) {
  BentSweeps bent(BentDevice::Bend::Forgets);
  EXPECT_EQ(bent.collect(100), 0u);
  EXPECT_EQ(bent.sweeps.failure().detail(), kDeviceDiffers);
  EXPECT_EQ(bent.collect(200), 0u);  // Not asked again.
}

// A slice was brought over, and is not there. Nothing is done again on the host, and looks do not
// end the wait: each of them says that nobody is due.
TEST(DeviceSweeps, S8ASliceThatTheDeviceForgotIsFoundWithinItsTicks) {
  constexpr std::uint32_t kRows = 20 * sessions::kSliceRows;
  DeviceSweepsOptions unchecked = all_of_them();
  unchecked.check_one_in = 0;
  BentSweeps bent(BentDevice::Bend::Stale, unchecked);
  bent.clock.reserve(kRows);
  const auto live = [&bent](std::uint32_t row, std::uint32_t ttl_ms) {
    bent.clock.on_registered({.row = locks::SessionRow{row},
                              .shard = ShardId{1},
                              .session = SessionId{row},
                              .ttl_ms = ttl_ms},
                             Tick{1},
                             true);
  };
  live(kRows - 1, 3'600'000);
  ASSERT_EQ(bent.collect(20), 1u);  // With all slices; the next ones do not arrive.
  live(kRows / 2, 200);             // Until tick 22.
  std::uint64_t tick = 21;
  for (; bent.sweeps.failure().ok() && tick < 100 * sessions::kForgottenTicksMax; ++tick) {
    ASSERT_EQ(bent.collect(tick), 0u) << tick;
  }
  EXPECT_EQ(bent.sweeps.failure().detail(), kDeviceDiffers);
  EXPECT_LE(tick, 23 + sessions::kForgottenTicksMax);
}

// Where nothing is checked, it may end late and not early: never before its own deadline.
TEST(DeviceSweeps, S8WhatTheDeviceSaysEndsNobodyEarly) {
  DeviceSweepsOptions unchecked = all_of_them();
  unchecked.check_one_in = 0;
  BentSweeps bent(BentDevice::Bend::Lies, unchecked);
  bent.clock.renew(SessionId{1}, Tick{50});
  for (std::uint64_t tick = 2; tick <= 60; ++tick) {
    EXPECT_EQ(bent.collect(tick), 0u) << tick;
  }
}

TEST(DeviceSweeps, AnotherAnswerThanTheHostsIsAFault) {
  BentSweeps bent(BentDevice::Bend::Lies);
  EXPECT_FALSE(bent.search().ok());
  EXPECT_EQ(bent.sweeps.failure().detail(), kDeviceDiffers);
  EXPECT_FALSE(bent.search().ok());
}

// They have their turns to be checked apart.
TEST(DeviceSweeps, ManyLooksLeaveNoSearchUnchecked) {
  DeviceSweepsOptions sampled = all_of_them();
  sampled.check_one_in = 64;
  BentSweeps bent(BentDevice::Bend::None, sampled);
  for (int k = 0; k < 63; ++k) {
    const Tick due = bent.clock.next_deadline();
    bent.clock.renew(SessionId{1}, due);
    bent.collect(due.value);
  }
  ASSERT_EQ(bent.sweeps.report().sessions, 63u);
  ASSERT_TRUE(bent.search().ok());
  EXPECT_EQ(bent.sweeps.report().checked, 2u);  // The first of each.
}

DeadlockWait wait_of(std::uint64_t session, std::vector<std::uint64_t> holders, bool any = false) {
  DeadlockWait wait{.shard = ShardId{1},
                    .session = SessionId{session},
                    .sequence = RequestSequence{1},
                    .enqueued_at = LogIndex{100 + session},
                    .waited_ms = static_cast<std::uint32_t>(session),
                    .any = any,
                    .name = {},
                    .holders = {}};
  for (const std::uint64_t holder : holders) {
    wait.holders.push_back({SessionId{holder}, FencingToken{holder}});
  }
  return wait;
}

// Whoever waits in it waits for others in it alone, and each of the ring for the next.
void expect_a_deadlock(const Deadlock& found) {
  const auto holds = [](const DeadlockWait& wait, SessionId session) {
    return std::ranges::any_of(wait.holders,
                               [session](const auto& each) { return each.session == session; });
  };
  ASSERT_LT(found.victim, found.ring);
  ASSERT_LE(found.ring, found.evidence.size());
  for (std::size_t k = 0; k < found.ring; ++k) {
    EXPECT_TRUE(holds(found.evidence[k], found.evidence[(k + 1) % found.ring].session));
  }
  for (const DeadlockWait& wait : found.evidence) {
    for (const DeadlockHolder& holder : wait.holders) {
      EXPECT_TRUE(std::ranges::any_of(found.evidence, [&holder](const DeadlockWait& other) {
        return other.session == holder.session;
      }));
    }
  }
}

// Nothing is done again on the host. A device that errs in any one bit is found out by what it
// says, or what it says is a deadlock all the same, or it overlooks one.
TEST(DeviceSweeps, L18NoBitOfAnAnswerMakesADeadlockOfWaitsThatAreNone) {
  const std::vector<DeadlockWait> waits = {wait_of(1, {2}),
                                           wait_of(2, {1}),
                                           wait_of(3, {1, 4}, true),  // Waits behind them.
                                           wait_of(4, {5, 6}, true),
                                           wait_of(5, {4}),
                                           wait_of(6, {5}),
                                           wait_of(7, {8}),  // Goes on.
                                           wait_of(9, {8, 1}, true)};
  DeviceSweepsOptions unchecked = all_of_them();
  unchecked.check_one_in = 0;
  std::size_t found_out = 0;
  std::size_t reported = 0;
  bool flipped = true;
  for (std::size_t bit = 0; flipped; ++bit) {
    auto device = std::make_unique<sessions::FlippingSweepDevice>(bit);
    const sessions::FlippingSweepDevice& flipping = *device;
    BentSweeps bent(std::unique_ptr<SweepDevice>(std::move(device)), unchecked);
    const auto found = find_deadlocks(
        [&bent](auto edges, auto any) { return bent.sweeps.search(edges, any); }, waits);
    flipped = flipping.flipped();
    if (!found.ok()) {
      EXPECT_EQ(bent.sweeps.failure().detail(), kDeviceDiffers) << bit;
      ++found_out;
      continue;
    }
    EXPECT_TRUE(flipped || found.value().deadlocks.size() == 2);
    for (const Deadlock& deadlock : found.value().deadlocks) {
      expect_a_deadlock(deadlock);
      ++reported;
    }
    ASSERT_FALSE(HasFailure()) << bit;
  }
  EXPECT_GT(found_out, 500u);
  EXPECT_GT(reported, 500u);
}

TEST(DeviceSweeps, WithoutMemoryForItTheHostGoesOnAlone) {
  BentSweeps bent(BentDevice::Bend::Full);
  EXPECT_TRUE(bent.sweeps.report().on_device);
  bent.expect_the_host_alone();
}

// The node starts all the same.
TEST(DeviceSweeps, WithoutMemoryForItAtTheStartTheHostGoesOnAlone) {
  BentSweeps bent(Status{StatusCode::ResourceExhausted, "cuda:0 is full", kDeviceMemory});
  EXPECT_TRUE(bent.started.ok()) << bent.started.to_string();
  bent.expect_the_host_alone();
}

TEST(DeviceSweeps, ADeviceThatFailsWhileItIsOpenedIsNotReplaced) {
  BentSweeps bent(Status{StatusCode::Internal, "cuda:0: lost", kDeviceFailed});
  EXPECT_EQ(bent.started.detail(), kDeviceFailed);
}

TEST(DeviceSweeps, WhatIsSmallStaysOnTheHost) {
  BentSweeps bent(BentDevice::Bend::Lies, DeviceSweepsOptions{});
  EXPECT_EQ(bent.collect(100), 1u);
  EXPECT_EQ(bent.search().value().cycles.on_cycle.size(), 2u);
  EXPECT_EQ(bent.sweeps.report().sessions + bent.sweeps.report().waits, 0u);
  EXPECT_TRUE(bent.sweeps.report().on_device);
}

}  // namespace
}  // namespace gcoord::server
