// The parts of live chaos that need no cluster: links, schedules, bits, figures, the page.
#include "chaos/live/bit_flip.h"
#include "chaos/live/frame_pipe.h"
#include "chaos/live/live_page.h"
#include "chaos/live/schedule.h"
#include "chaos/random/turn_threads.h"
#include "netcore/channel/frame.h"
#include "tests/scratch_folder.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

namespace gcoord::chaos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two socket pairs with a pipe between them.
class FramePipeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, in_), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, out_), 0);
    pipe_ = std::make_unique<FramePipe>(in_[1], out_[0], 7);
  }

  void TearDown() override {
    for (const int fd : {in_[0], in_[1], out_[0], out_[1]}) {
      ::close(fd);
    }
  }

  static std::string frame(std::uint32_t sequence) {
    const netcore::Slot slot{};
    std::string bytes(netcore::frame_bytes(1, {}), '\0');
    netcore::FrameHeader header;
    header.sequence = sequence;
    netcore::encode_frame(header, {&slot, 1}, {}, 0, std::as_writable_bytes(std::span{bytes}));
    return bytes;
  }

  // What comes out of these frames, at this moment of the pipe's clock.
  std::string pass(const LinkFault& fault, std::uint32_t frames, FramePipe::Clock::time_point now) {
    for (std::uint32_t i = 0; i < frames; ++i) {
      const std::string bytes = frame(i);
      EXPECT_EQ(::send(in_[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    }
    for (std::uint32_t i = 0; i < frames; ++i) {
      pipe_->read(fault, counts_, now);
    }
    return leave(fault, now);
  }

  std::string leave(const LinkFault& fault, FramePipe::Clock::time_point now) {
    pipe_->write(fault, counts_, now);
    std::string out(1 << 20, '\0');
    const ssize_t count = ::recv(out_[1], out.data(), out.size(), MSG_DONTWAIT);
    return out.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }

  int in_[2] = {-1, -1};
  int out_[2] = {-1, -1};
  std::unique_ptr<FramePipe> pipe_;
  LinkCounts counts_;
  FramePipe::Clock::time_point now_{std::chrono::seconds{100}};
};

TEST_F(FramePipeTest, APerfectLinkChangesNothing) {
  EXPECT_EQ(pass({}, 3, now_), frame(0) + frame(1) + frame(2));
}

TEST_F(FramePipeTest, ACutHoldsEverythingUntilItIsHealed) {
  EXPECT_EQ(pass({.cut = true}, 2, now_), "");
  EXPECT_EQ(leave({}, now_), frame(0) + frame(1));
  EXPECT_EQ(counts_.held, 1u);
}

TEST_F(FramePipeTest, AStalledWindowLeavesTheBytesWithTheSender) {
  EXPECT_EQ(pass({.stalled = true}, 2, now_), "");
  EXPECT_EQ(leave({}, now_), "") << "nothing was read";
  EXPECT_GT(counts_.stalls, 0u);
}

TEST_F(FramePipeTest, FramesAreLateLostTwiceOrBroken) {
  EXPECT_EQ(pass({.delay_us = 5000}, 1, now_), "");
  EXPECT_EQ(leave({}, now_ + std::chrono::milliseconds{5}), frame(0));
  now_ += std::chrono::seconds{1};
  EXPECT_EQ(pass({.drop = 1000}, 2, now_), "");
  EXPECT_EQ(pass({.duplicate = 1000}, 1, now_), frame(0) + frame(0));
  const std::string broken = pass({.corrupt = 1000}, 1, now_);
  ASSERT_EQ(broken.size(), frame(0).size());
  EXPECT_NE(broken, frame(0));
  EXPECT_EQ(counts_.dropped, 2u);
  EXPECT_EQ(counts_.duplicated, 1u);
  EXPECT_EQ(counts_.corrupted, 1u);
}

TEST_F(FramePipeTest, WhatIsNoFramePassesAsItIs) {
  const std::string noise(200, 'x');
  ASSERT_EQ(::send(in_[0], noise.data(), noise.size(), 0), 200);
  pipe_->read({.drop = 1000}, counts_, now_);
  EXPECT_EQ(leave({}, now_), noise);
}

std::vector<std::string> device_classes(const StepPosition& place) {
  std::vector<std::string> names;
  for (const FaultClass& each : device_faults(place)) {
    EXPECT_NE(each.make != nullptr, !each.skip.empty()) << each.name << " can, or says why not";
    if (each.make != nullptr) {
      EXPECT_NE(each.make(), nullptr) << each.name;
      names.emplace_back(each.name);
    }
  }
  return names;
}

TEST(FaultTest, ThoseOfDevicesAreSkippedWithAReasonWhereNodesHaveNone) {
  EXPECT_THAT(device_classes({}), IsEmpty());
  EXPECT_THAT(device_classes({.device = "cpu"}), IsEmpty());
  const auto all = ElementsAre("device-error", "device-stall", "device-flip");
  EXPECT_THAT(device_classes({.device = "twin"}), all);
  EXPECT_THAT(device_classes({.device = "cuda:0"}), all);
}

TEST(FaultTest, OfAResidentTurnThoseAreLeftThatItCanMeet) {
  EXPECT_THAT(device_classes({.resident = true}), ElementsAre("device-error"));
  EXPECT_THAT(device_classes({.device = "cuda:0", .resident = true}),
              ElementsAre("device-error", "device-stall"));
}

TEST(StepPlaceTest, ATurnThatIsResidentAlwaysNamesADevice) {
  EXPECT_THAT(StepPosition{}.arguments(), IsEmpty());
  EXPECT_THAT(StepPosition{.device = "twin"}.arguments(), ElementsAre("--device", "twin"));
  EXPECT_THAT(StepPosition{.resident = true}.arguments(),
              ElementsAre("--device", "twin", "--turn", "resident", "--resident-peers", "proxy"));
}

TEST(TurnThreadsTest, EveryLifeOfANodeDrawsItsNumberAnew) {
  std::map<std::string, int> lives;
  int changes = 0;
  for (std::uint32_t node = 1; node <= 5; ++node) {
    for (std::uint32_t life = 1; life <= 20; ++life) {
      const auto drawn = turn_threads_of_life(7, node, life);
      ASSERT_EQ(drawn.size(), 2u);
      EXPECT_EQ(drawn[0], "--turn-threads");
      EXPECT_EQ(drawn, turn_threads_of_life(7, node, life)) << "a run is a function of its seed";
      ++lives[drawn[1]];
      changes += drawn == turn_threads_of_life(7, node, life + 1) ? 0 : 1;
    }
  }
  EXPECT_EQ(lives.size(), kTurnThreadsDrawn);
  EXPECT_TRUE(lives.contains("1"));
  EXPECT_GT(changes, 50);
}

TEST(ScheduleTest, EveryClassIsDealtOnceBeforeAnyIsDealtAgain) {
  const auto classes = all_faults();
  Schedule schedule{classes, 3};
  Schedule again{classes, 3};
  std::map<std::size_t, int> dealt;
  std::size_t can = 0;
  for (const FaultClass& each : classes) {
    can += each.make != nullptr ? 1 : 0;
    EXPECT_NE(each.make != nullptr, !each.skip.empty()) << each.name << " can, or says why not";
  }
  for (std::size_t i = 0; i < can; ++i) {
    const auto struck = schedule.next();
    EXPECT_EQ(struck, again.next());
    ASSERT_EQ(struck.size(), 1u) << "in the first deal nothing strikes together";
    EXPECT_EQ(++dealt[struck.front()], 1);
  }
  EXPECT_EQ(dealt.size(), can);
}

TEST(ScheduleTest, FromTheSecondDealOnAReplacedDiskComesInCompanyButNeverInThatOfAnother) {
  const auto classes = all_faults();
  std::map<std::string_view, int> company;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Schedule schedule{classes, seed};
    for (int strikes = 0; strikes < 200; ++strikes) {
      const auto struck = schedule.next();
      const FaultClass& first = classes[struck.front()];
      if (struck.size() == 2) {
        const FaultClass& second = classes[struck.back()];
        EXPECT_FALSE(first.forgets && second.forgets) << first.name << " and " << second.name;
        company[first.name] += second.combines ? 0 : 1;
      }
    }
  }
  for (const char* const name : {"membership", "member-change"}) {
    EXPECT_GT(company[name], 20) << name << " with faults that others do not combine with";
  }
  for (const auto& [name, count] : company) {
    EXPECT_TRUE(name == "membership" || name == "member-change" || count == 0) << name;
  }
}

TEST(BitFlipTest, ABitFlipsInWhatIsUsedAndFlipsBack) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "file";
  const std::string used = "some bytes";
  std::ofstream{file, std::ios::binary} << used << std::string(4096, '\0');
  for (std::uint64_t strike = 1; strike <= 20; ++strike) {
    Draw draw{1, strike};
    const auto flip = flip_bit(files_in(scratch.path()), draw);
    ASSERT_TRUE(flip.ok());
    EXPECT_LT(flip.value().offset, used.size());
    EXPECT_TRUE(flip_back(flip.value()));
    EXPECT_FALSE(flip_back(flip.value())) << "it is not flipped any more";
  }
  std::ifstream in{file, std::ios::binary};
  std::string left(used.size(), '\0');
  in.read(left.data(), static_cast<std::streamsize>(left.size()));
  EXPECT_EQ(left, used);
}

// An operation of 1 ms that was called at this second.
Operation called_at(double second, Outcome outcome) {
  const auto at = static_cast<std::uint64_t>(second * 1e9);
  return {.op = Op::Release,
          .outcome = outcome,
          .key = "k",
          .call_ns = at,
          .return_ns = at + 1'000'000};
}

TEST(LiveResultTest, AvailabilityCountsOnlyWhatWasAskedOutsideFaultWindows) {
  LiveResult result;
  result.seconds = 10;
  result.strikes.push_back({.fault = "kill",
                            .from_ns = 3'000'000'000,
                            .healed_ns = 4'000'000'000,
                            .over_ns = 5'000'000'000});
  summarize_load({called_at(1, Outcome::Ok),
                  called_at(2, Outcome::Fail),
                  called_at(4, Outcome::Unknown),
                  called_at(6, Outcome::Unknown),
                  called_at(7, Outcome::Ok)},
                 result);
  EXPECT_EQ(result.calm.asked, 4u);
  EXPECT_EQ(result.calm.answered, 3u);
  EXPECT_DOUBLE_EQ(result.availability, 0.75);
  EXPECT_DOUBLE_EQ(result.calm.seconds, 8);
  EXPECT_EQ(result.unknown, 2u);
  EXPECT_EQ(result.acknowledged, 2u);
}

TEST(LiveResultTest, ThePageTellsWhatIsWrongAndEscapesWhatItTells) {
  LiveResult result;
  result.seconds = 2;
  result.failures = {"node <1> & others"};
  result.timeline = {{.answered = 5, .p50_ms = 1, .p99_ms = 2}, {}, {}};
  const std::string page = live_page(result, {.replay = "./gcoord chaos live --seed 5"});
  EXPECT_THAT(page, HasSubstr("a check did not hold"));
  EXPECT_THAT(page, HasSubstr("node &lt;1&gt; &amp; others"));
  EXPECT_THAT(page, HasSubstr("./gcoord chaos live --seed 5"));
  EXPECT_THAT(page, testing::Not(HasSubstr("http://localhost")));
  EXPECT_THAT(page, testing::Not(HasSubstr("<script src")));
}

}  // namespace
}  // namespace gcoord::chaos
