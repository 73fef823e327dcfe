// A node that has its deadlines looked at elsewhere proposes what one without does.
#include "sessions/deadline_mirror.h"

#include "common/random.h"
#include "sessions/sweep_guard.h"
#include "tests/sessions/sweep_devices.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace gcoord::sessions {
namespace {

constexpr std::uint32_t kRows = 5 * kSliceRows / 2;
constexpr std::uint64_t kSessions = 4000;

// Two clocks that live through the same; the deadlines of one are looked at on a device.
class DeadlineMirrorTest : public SweepDeviceTest {
 protected:
  void SetUp() override {
    SweepDeviceTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    mirror_ = std::make_unique<DeadlineMirror>(*device_);
  }

  template <typename Change>
  void both(const Change& change) {
    change(plain_);
    change(mirrored_);
  }

  void register_row(std::uint32_t row, std::uint64_t random, Tick now) {
    both([&](SessionClock& clock) {
      clock.reserve(row);
      clock.on_registered({.row = SessionRow{row},
                           .shard = ShardId{row % 16},
                           .session = SessionId{1 + random % kSessions},
                           .serial = static_cast<std::uint32_t>(random >> 40),
                           .ttl_ms = 100 + static_cast<std::uint32_t>(random >> 32) % 2000},
                          now,
                          row % 5 != 0);
    });
  }

  bool present(std::uint32_t row) {
    return row < plain_.row_end() && plain_.columns().cells[row].present;
  }

  // Something that befalls a row, as the log, the other nodes and leadership have it.
  void befall(std::uint32_t row, std::uint64_t random, Tick now) {
    if (!present(row)) {
      return register_row(row, random, now);
    }
    const SessionCell cell = plain_.columns().cells[row];
    const ExpiryProposal named{SessionRow{row}, cell.shard, cell.session, cell.serial};
    const Tick later = now + (random >> 50);
    both([&](SessionClock& clock) {
      switch (random >> 20 & 7) {
        case 0:
          return clock.on_removed(SessionRow{row}, (random & 1) != 0);
        case 1:
          return clock.on_dying(SessionRow{row}, now);
        case 2:
          return clock.on_delaying(SessionRow{row});
        case 3:
          return clock.on_led(SessionRow{row}, now, 100);
        case 4:
          return clock.on_not_led(SessionRow{row});
        case 5:
          return clock.put_off(named, later);
        case 6:
          return static_cast<void>(clock.propose(named));
        default:
          return clock.on_expiry_refused(named, later);
      }
    });
  }

  void keep_alives(std::uint64_t round, std::uint64_t count, Tick now) {
    for (std::uint64_t k = 0; k < count; ++k) {
      const SessionId session{1 + random64(2, round, k) % (kSessions + 50)};
      both([&](SessionClock& clock) { clock.renew(session, now); });
    }
  }

  // With room for some, so that a block is left in the middle. Says whether the device looked.
  bool collect_both(Tick now, std::size_t room) {
    std::vector<ExpiryProposal> expected(room);
    std::vector<ExpiryProposal> got(room);
    const std::size_t count = plain_.collect_due(now, expected);
    auto look = mirror_->look(mirrored_, now);
    EXPECT_TRUE(look.ok());
    const bool looked = look.value().has_value();
    EXPECT_FALSE(looked && mirrored_.missed_by(*look.value(), now));
    EXPECT_EQ(
        looked ? mirrored_.collect_among(*look.value(), now, got) : mirrored_.collect_due(now, got),
        count);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(expected[k].row, got[k].row);
      EXPECT_EQ(expected[k].session, got[k].session);
      EXPECT_EQ(expected[k].serial, got[k].serial);
      EXPECT_EQ(expected[k].shard, got[k].shard);
    }
    collected_ += count;
    return looked;
  }

  void expect_equal_columns() {
    const SessionColumns plain = plain_.columns();
    const SessionColumns mirrored = mirrored_.columns();
    ASSERT_EQ(plain.row_end, mirrored.row_end);
    for (std::uint32_t row = 0; row < plain.row_end; ++row) {
      ASSERT_EQ(plain.deadline[row], mirrored.deadline[row]) << row;
      ASSERT_EQ(plain.cells[row].proposed, mirrored.cells[row].proposed) << row;
    }
    for (std::uint32_t row = 1; row < mirrored.row_end; ++row) {
      ASSERT_GE(mirrored.deadline[row], mirrored_.next_deadline()) << row;
    }
  }

  std::unique_ptr<DeadlineMirror> mirror_;
  SessionClock plain_{{.tick_ms = 10, .expired_remembered_max = 8, .index_seed = 3}};
  SessionClock mirrored_{{.tick_ms = 10, .expired_remembered_max = 8, .index_seed = 3}};
  std::size_t collected_ = 0;
};

// Whatever happens between two looks: the same rows are due, in the same order.
TEST_P(DeadlineMirrorTest, S8TheSameRunOutAsWithoutADevice) {
  std::uint32_t looks = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    const Tick now{200 + round * 3};
    for (std::uint64_t k = 0; k < 150; ++k) {
      const std::uint64_t random = random64(1, round, k);
      befall(1 + static_cast<std::uint32_t>(random % (30 + round * kRows / 300)), random, now);
    }
    keep_alives(round, 300, now);
    looks += collect_both(now, round % 3 == 0 ? 4000 : 17) ? 1 : 0;
    expect_equal_columns();
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_EQ(looks, 300u);
  EXPECT_GT(collected_, 5000u);
}

// A column that a look cannot bring over as a whole comes in parts, and the host looks meanwhile.
TEST_P(DeadlineMirrorTest, WhatIsFarBehindComesInParts) {
  constexpr std::uint32_t kSlices = 2 * kSlicesPerLook + 3;
  for (std::uint32_t row = 1; row < kSlices * kSliceRows; ++row) {
    register_row(row, random64(4, row, 0), Tick{1});
  }
  EXPECT_FALSE(collect_both(Tick{2}, 100));
  EXPECT_FALSE(collect_both(Tick{3}, 100));
  EXPECT_TRUE(collect_both(Tick{4}, 100));
  EXPECT_EQ(collected_, 0u);
  EXPECT_TRUE(collect_both(Tick{60}, 100));
  EXPECT_EQ(collected_, 100u);
  expect_equal_columns();
}

TEST_P(DeadlineMirrorTest, ARowThatWasRenewedIsNamedOnceAndNotTaken) {
  for (std::uint32_t row = 1; row <= 100; ++row) {
    register_row(row, row, Tick{1});
  }
  ASSERT_FALSE(HasFailure());
  collect_both(Tick{2}, 10);
  both([](SessionClock& clock) {
    for (std::uint64_t session = 1; session <= 101; ++session) {
      clock.renew(SessionId{session}, Tick{8});
    }
  });
  const auto named = mirror_->look(mirrored_, Tick{14});
  ASSERT_TRUE(named.ok() && named.value().has_value());
  EXPECT_TRUE(named.value()->names_any(0, 128));  // By their deadlines of before.
  std::vector<ExpiryProposal> out(100);
  EXPECT_EQ(mirrored_.collect_among(*named.value(), Tick{14}, out), 0u);
  const auto again = mirror_->look(mirrored_, Tick{14});
  ASSERT_TRUE(again.ok() && again.value().has_value());
  EXPECT_FALSE(again.value()->names_any(0, 128));
}

INSTANTIATE_TEST_SUITE_P(Devices, DeadlineMirrorTest, testing::Values("host", "cuda"));

// However far apart the looks are, and while the column grows.
TEST(HostRound, SeesEveryRowWithinItsTicks) {
  HostRound round;
  std::vector<std::uint64_t> seen(64);
  std::uint64_t now = 1000;
  for (std::uint64_t look = 0; look < 3000; ++look) {
    now += random64(5, look, 0) % (look % 500 < 250 ? 4 : kLookTicksMax + 1);
    const std::uint32_t slices = look < 1500 ? 37 : 64;
    const RowRange rows = round.next(slices * kSliceRows - 9, Tick{now});
    ASSERT_LE(rows.end, slices * kSliceRows);
    for (std::uint32_t slice = rows.first / kSliceRows; slice < rows.end / kSliceRows; ++slice) {
      seen[slice] = now;
    }
    if (now > 1000 + kForgottenTicksMax && look != 1500) {
      for (std::uint32_t slice = 0; slice < (look < 1500 + 300 ? 37 : slices); ++slice) {
        ASSERT_LE(now - seen[slice], kForgottenTicksMax) << look << ' ' << slice;
      }
    }
  }
}

TEST(LoweredSlices, NewOnesAreMarkedAndRunsAreTakenOnce) {
  LoweredSlices slices;
  slices.reserve(3 * kSliceRows);
  EXPECT_EQ(slices.take(3, 2).count, 2u);
  const auto last = slices.take(3, 2);
  EXPECT_EQ(last.first, 2u);
  EXPECT_EQ(last.count, 1u);
  EXPECT_FALSE(slices.any(3));
  slices.add(kSliceRows);
  const auto one = slices.take(3, 32);
  EXPECT_EQ(one.first, 1u);
  EXPECT_EQ(one.count, 1u);
  slices.reserve(70 * kSliceRows);
  EXPECT_TRUE(slices.any(70));
}

// Every call of a look and of a search, one after another: none is made after the one that failed.
TEST(SweepGuard, StopsAtItsFirstFailure) {
  SessionClock clock{{.tick_ms = 10}};
  clock.reserve(100);
  clock.on_registered(
      {.row = SessionRow{1}, .shard = ShardId{1}, .session = SessionId{1}, .ttl_ms = 100},
      Tick{1},
      true);
  constexpr std::uint64_t kCalls = 7;  // Four pieces of memory, a slice, a look, and its words.
  for (std::uint64_t number = 1; number <= kCalls + 1; ++number) {
    const auto device = guard_sweep_device(make_host_sweep_device(),
                                           {.kind = DeviceFaultPlan::Kind::Call, .number = number});
    DeadlineMirror mirror(*device);
    clock.lowered().add_all();
    const auto look = mirror.look(clock, Tick{100});
    EXPECT_EQ(look.ok(), number > kCalls) << number;
    if (look.ok()) {
      continue;
    }
    EXPECT_EQ(look.status().detail(), kDeviceFailed) << number;
    EXPECT_FALSE(device->reserve(8).ok());
  }
}

TEST(SweepGuard, ALoopThatOverrunsHasItsOwnNumber) {
  const auto device = guard_sweep_device(make_host_sweep_device(),
                                         {.kind = DeviceFaultPlan::Kind::Hang, .number = 1});
  SessionClock clock{{.tick_ms = 10}};
  DeadlineMirror mirror(*device);
  const auto look = mirror.look(clock, Tick{1});
  ASSERT_FALSE(look.ok());
  EXPECT_EQ(look.status().detail(), kDeviceOverrun);
}

}  // namespace
}  // namespace gcoord::sessions
