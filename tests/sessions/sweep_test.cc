// The session clock as wide operations: on every device the same as one session at a time.
#include "sessions/sweep.h"

#include "common/random.h"
#include "tests/sessions/sweep_devices.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace gcoord::sessions {
namespace {

constexpr std::uint32_t kRows = 3000;
constexpr std::uint64_t kSessions = 900;  // So that most have several registrations.

// Two clocks that live through the same; one of them is renewed and swept wide.
class SessionSweepTest : public SweepDeviceTest {
 protected:
  void SetUp() override {
    SweepDeviceTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    sweep_ = std::make_unique<SessionSweep>(*device_);
    for (SessionClock* clock : {&plain_, &wide_}) {
      clock->reserve(kRows);
      populate(*clock);
    }
  }

  static void populate(SessionClock& clock) {
    for (std::uint32_t row = 1; row <= kRows; ++row) {
      if (row % 7 == 0) {
        continue;  // A gap.
      }
      const std::uint64_t random = random64(1, row, 0);
      clock.on_registered({.row = SessionRow{row},
                           .shard = ShardId{row % 16},
                           .session = SessionId{1 + random % kSessions},
                           .serial = row,
                           .ttl_ms = 100 + static_cast<std::uint32_t>(random >> 32) % 2000},
                          Tick{random >> 40 & 63},
                          row % 5 != 0);
    }
    for (std::uint32_t row = 11; row <= kRows; row += 97) {
      if (row % 7 != 0 && row % 194 != 11) {
        clock.on_removed(SessionRow{row}, row % 2 == 0);
      } else if (row % 7 != 0) {
        clock.on_dying(SessionRow{row}, Tick{64});
      }
    }
  }

  std::vector<SessionId> keep_alives(std::uint64_t round) const {
    std::vector<SessionId> sessions;
    for (std::uint64_t k = 0; k < 200; ++k) {  // Some twice, some that nobody knows.
      sessions.emplace_back(1 + random64(2, round, k) % (kSessions + 50));
    }
    return sessions;
  }

  void expect_equal_columns() {
    const SessionColumns plain = plain_.columns();
    const SessionColumns wide = wide_.columns();
    ASSERT_EQ(plain.row_end, wide.row_end);
    for (std::uint32_t row = 0; row < plain.row_end; ++row) {
      ASSERT_EQ(plain.deadline[row], wide.deadline[row]) << row;
      ASSERT_EQ(plain.heard[row], wide.heard[row]) << row;
      ASSERT_EQ(plain.cells[row].proposed, wide.cells[row].proposed) << row;
    }
  }

  void renew_both(std::uint64_t round, Tick now) {
    const std::vector<SessionId> sessions = keep_alives(round);
    std::vector<RenewOutcome> expected(sessions.size());
    std::vector<RenewOutcome> got(sessions.size());
    plain_.renew_all(sessions, now, expected);
    ASSERT_TRUE(sweep_->renew_all(sessions, now, got).ok());
    for (std::size_t k = 0; k < sessions.size(); ++k) {
      ASSERT_EQ(expected[k].code, got[k].code) << round << ' ' << k;
      ASSERT_EQ(expected[k].registration_count, got[k].registration_count) << round << ' ' << k;
      ASSERT_EQ(expected[k].ttl_ms_min, got[k].ttl_ms_min) << round << ' ' << k;
    }
  }

  // With room for few, so that a block is left in the middle.
  std::size_t expire_both(Tick now) {
    std::vector<ExpiryProposal> expected(17);
    std::vector<ExpiryProposal> got(17);
    const std::size_t count = plain_.expired(now, expected);
    const auto swept = sweep_->expired(now, got);
    EXPECT_TRUE(swept.ok());
    EXPECT_EQ(swept.value(), count);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(expected[k].row, got[k].row);
      EXPECT_EQ(expected[k].session, got[k].session);
      EXPECT_EQ(expected[k].serial, got[k].serial);
      EXPECT_EQ(expected[k].shard, got[k].shard);
    }
    return count;
  }

  std::unique_ptr<SessionSweep> sweep_;
  SessionClock plain_{{.tick_ms = 10, .expired_remembered_max = 8, .index_seed = 3}};
  SessionClock wide_{{.tick_ms = 10, .expired_remembered_max = 8, .index_seed = 3}};
};

TEST_P(SessionSweepTest, RenewsAndExpiresAsOneSessionAtATimeDoes) {
  std::size_t proposed = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    const Tick now{64 + round * 5};
    ASSERT_TRUE(sweep_->load(wide_).ok());
    renew_both(round, now);
    const std::size_t count = expire_both(now);
    ASSERT_TRUE(sweep_->store(wide_).ok());
    expect_equal_columns();
    proposed += count;
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(proposed, 500u);
}

TEST_P(SessionSweepTest, ALookThatFindsNobodySaysSo) {
  ASSERT_TRUE(sweep_->load(wide_).ok());
  const auto none = sweep_->any_due(Tick{0});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none.value());
  const auto all = sweep_->any_due(Tick{100'000});
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all.value());
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionSweepTest, testing::Values("host", "cuda"));

}  // namespace
}  // namespace gcoord::sessions
