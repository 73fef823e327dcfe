#include "server/platform/device_choice.h"

#include "common/device/device_errors.h"
#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/device/stepper_cuda.h"
#include "server/options/options.h"

#include <gmock/gmock.h>

#include <chrono>
#include <map>

namespace gcoord::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint32_t kRows = 16;

Result<ChosenStepper> choose(const std::string& text) {
  return choose_stepper(
      {.device = parse_device_choice(text).value(), .row_count = kRows, .slot_count = 3});
}

Result<Invocation> parse(std::vector<std::string> arguments,
                         std::map<std::string, std::string> variables = {}) {
  arguments.insert(arguments.begin(), {"--data-dir", "/nowhere"});
  return parse_invocation(
      arguments, [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      });
}

TEST(DeviceChoice, IsCpuUnlessSaidOtherwise) {
  EXPECT_EQ(parse({}).value().options.device.kind, DeviceChoice::Kind::Cpu);
  EXPECT_EQ(parse({"--device", "auto"}).value().options.device.kind, DeviceChoice::Kind::Auto);
  const auto named = parse({}, {{"GCOORD_DEVICE", "cuda:3"}}).value().options.device;
  EXPECT_EQ(named.kind, DeviceChoice::Kind::Cuda);
  EXPECT_EQ(named.index, 3u);
}

TEST(DeviceChoice, RefusesWhatIsNoDevice) {
  for (const char* text : {"", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:1 ", "cuda:256", "CPU"}) {
    const auto parsed = parse({}, {{"GCOORD_DEVICE", text}});
    EXPECT_EQ(parsed.status().detail(), 1001u) << text;
    EXPECT_THAT(parsed.status().message(), HasSubstr("is none of cpu, auto, twin and cuda:N"))
        << text;
  }
}

TEST(DeviceChoice, AFaultIsInjectedOnlyIntoADeviceNamed) {
  const auto planned = parse({"--device", "cuda:0"}, {{"GCOORD_DEVICE_FAULT", "call:9"}});
  EXPECT_EQ(planned.value().options.device_fault.number, 9u);
  EXPECT_EQ(parse({"--device", "cuda:0"}).value().options.device_fault.kind,
            DeviceFaultPlan::Kind::None);
  EXPECT_THAT(parse({}, {{"GCOORD_DEVICE_FAULT", "call:9"}}).status().message(),
              HasSubstr("--device names no GPU"));
  EXPECT_THAT(
      parse({"--device", "cuda:0"}, {{"GCOORD_DEVICE_FAULT", "sometimes"}}).status().message(),
      HasSubstr("none of call:N, hang:N and flip:N"));
  EXPECT_EQ(parse({"--device", "twin"}, {{"GCOORD_DEVICE_FAULT", "flip:3"}})
                .value()
                .options.device_fault.kind,
            DeviceFaultPlan::Kind::Flip);
  EXPECT_THAT(
      parse({"--device", "cuda:0", "--turn", "resident"}, {{"GCOORD_DEVICE_FAULT", "flip:3"}})
          .status()
          .message(),
      HasSubstr("of --turn host"));
}

TEST(DeviceChoice, TheResidentTwinIsCalledAndNotLaunched) {
  const std::vector<std::string> twin = {"--device", "twin", "--turn", "resident"};
  EXPECT_EQ(parse(twin, {{"GCOORD_DEVICE_FAULT", "call:9"}}).value().options.device_fault.number,
            9u);
  EXPECT_THAT(parse(twin, {{"GCOORD_DEVICE_FAULT", "hang:1"}}).status().message(),
              HasSubstr("has no launch that can hang"));
}

TEST(DeviceChoice, TheFirstThatOpensIsTakenElseTheFirstReasonIsSaid) {
  const auto opens_from = [](std::uint32_t usable) {
    return [usable](std::uint32_t index) -> Result<std::uint32_t> {
      return index >= usable
                 ? Result<std::uint32_t>{index}
                 : Status{StatusCode::Unavailable, "device " + std::to_string(index) + " is taken"};
    };
  };
  EXPECT_EQ(open_first(4, opens_from(0)).value(), 0u);
  EXPECT_EQ(open_first(4, opens_from(3)).value(), 3u);
  EXPECT_EQ(open_first(3, opens_from(3)).status().message(), "device 0 is taken");
  EXPECT_EQ(open_first(0, opens_from(1)).status().message(), "device 0 is taken");
}

TEST(DeviceChoice, TheTwinOfADeviceIsCheckedAsOneIsUnlessSaidOtherwise) {
  const auto chosen = choose("twin");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen.value().stepper->report().name, "twin");
  EXPECT_EQ(chosen.value().stepper->report().check_one_in, consensus::kDeviceCheckOneIn);
  EXPECT_EQ(parse({}).value().options.device_check_one_in, consensus::kDeviceCheckOneIn);
  EXPECT_EQ(parse({"--device-check", "0"}).value().options.device_check_one_in, 0u);
  EXPECT_EQ(parse({"--device-check", "1000001"}).status().detail(), 1001u);
}

TEST(DeviceChoice, AutoIsTheCpuWithAReasonWhereNoDeviceIs) {
  if (consensus::cuda_device_count() > 0) {
    GTEST_SKIP() << "skipped: there is a device here";
  }
  const auto chosen = choose("auto");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen.value().stepper->report().name, "cpu");
  EXPECT_THAT(chosen.value().why, StartsWith("auto: the CPU, because "));
}

// A clock by which each turn of the device takes so long, and each of the CPU, which comes second.
TrialTurns trial_of(std::chrono::nanoseconds device, std::chrono::nanoseconds processor) {
  TrialTurns trial{.rows = 4, .count = 3};
  const std::uint32_t looks = trial.count + 1;  // One before the turns, and one after each.
  trial.now = [=, now = std::chrono::nanoseconds{0}, seen = 0u]() mutable {
    return now += seen++ < looks ? device : processor;
  };
  return trial;
}

ChosenStepper choose_by(const TrialTurns& trial) {
  const auto open = [](std::uint32_t, const StepperOptions& options) {
    return consensus::make_device_stepper(
        std::make_unique<consensus::StandInDevice>(options.fault),
        {.row_count = options.row_count, .slot_count = options.slot_count});
  };
  return choose_faster({.row_count = kRows, .slot_count = 3, .trial = trial}, 1, open);
}

TEST(DeviceChoice, AutoTakesTheFasterOneAndSaysBothTimes) {
  using std::chrono::microseconds;
  const ChosenStepper slow = choose_by(trial_of(microseconds{61}, microseconds{9}));
  EXPECT_EQ(slow.stepper->report().name, "cpu");
  EXPECT_EQ(slow.why,
            "auto: the CPU takes 9.0 us for a turn of 4 shards, twin (memory of the host) takes "
            "61.0 us");
  const ChosenStepper fast = choose_by(trial_of(microseconds{8}, microseconds{9}));
  EXPECT_EQ(fast.stepper->report().name, "twin");
  EXPECT_EQ(fast.why,
            "auto: twin (memory of the host) takes 8.0 us for a turn of 4 shards, the CPU takes "
            "9.0 us");
  EXPECT_EQ(fast.stepper->columns().row_count, kRows);
  EXPECT_EQ(fast.stepper->columns().log[0].last, LogIndex{0}) << "a stepper of the trial";
}

TEST(DeviceChoice, ADeviceByNameIsNeverReplaced) {
  const auto chosen = choose("cuda:250");
  ASSERT_FALSE(chosen.ok());
  const std::uint32_t detail = chosen.status().detail();
  EXPECT_TRUE(detail == kDeviceBuild || detail == kDeviceAbsent) << chosen.status().to_string();
  EXPECT_THAT(chosen.status().message(), HasSubstr("or give --device cpu"));
  EXPECT_EQ(chosen.status().message().find('\n'), std::string::npos);
}

TEST(DeviceChoiceOnGpu, AutoMeasuresTheFirstDeviceBesideTheCpu) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  const auto chosen = choose("auto");
  ASSERT_TRUE(chosen.ok());
  const bool on_device = chosen.value().stepper->report().name == "cuda:0";
  EXPECT_THAT(chosen.value().why, StartsWith(on_device ? "auto: cuda:0 (" : "auto: the CPU takes"));
  EXPECT_THAT(chosen.value().why, HasSubstr("cuda:0"));
  EXPECT_THAT(chosen.value().why, HasSubstr("the CPU takes"));
}

TEST(DeviceChoiceOnGpu, TooLittleMemoryIsARefusalThatSaysHowMuchThereIs) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  // More than any device has for its rows, which are asked for before the host's own memory is.
  const auto made =
      consensus::make_cuda_stepper({.device = 0, .row_count = 4'000'000'000, .slot_count = 8});
  EXPECT_EQ(made.status().detail(), kDeviceMemory) << made.status().to_string();
  EXPECT_THAT(made.status().message(), HasSubstr("MiB free"));
}

}  // namespace
}  // namespace gcoord::server
