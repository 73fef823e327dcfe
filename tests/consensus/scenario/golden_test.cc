// Runs every golden scenario of testdata/raft and compares its trace line by line.
//
// A file is blocks of commands, a line "----" and the lines they are to cause, up to an empty line.
// GCOORD_REWRITE=1 writes what happened back into the files instead; the differences are then read
// by a person. A violated invariant or a command that is not understood fails either way. The same
// files are then replayed with the stepper of devices: over its stand-in everywhere, and with CUDA
// on machines with a device.
#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/device/stepper_cuda.h"
#include "consensus/scenario/script.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::consensus::scenario {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = in_sources("tests/consensus/testdata/raft");

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(kFolder)) {
    if (file.path().extension() == ".txt") {
      names.push_back(file.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Appends what one command causes; what is wrong with it is a failure of the test.
void run_command(Script& script, const std::string& line, std::vector<std::string>& output) {
  const Status status = script.run(line);
  EXPECT_TRUE(status.ok()) << line << ": " << status.to_string();
  for (std::string& text : script.take_output()) {
    EXPECT_NE(text.rfind("VIOLATION", 0), 0u) << line << ": " << text;
    output.push_back(std::move(text));
  }
}

// The file as it would read if every expectation were what happens.
std::vector<std::string> replay(const std::vector<std::string>& lines,
                                StepperFactory make_stepper) {
  Script script(std::move(make_stepper));
  std::vector<std::string> replayed;
  std::vector<std::string> output;
  bool expecting = false;
  for (const std::string& line : lines) {
    if (line == "----") {
      expecting = true;
      replayed.push_back(line);
      replayed.insert(replayed.end(), output.begin(), output.end());
      output.clear();
    } else if (line.empty()) {
      expecting = false;
      replayed.push_back(line);
    } else if (!expecting) {
      replayed.push_back(line);
      if (line.front() != '#') {
        run_command(script, line, output);
      }
    }
  }
  EXPECT_TRUE(output.empty()) << "the last commands have no ---- behind them";
  return replayed;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, HappensAsWritten) {
  const fs::path path = kFolder / (GetParam() + ".txt");
  const std::vector<std::string> written = read_lines(path);
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.front().front(), '#') << "a scenario begins with what it shows";
  const std::vector<std::string> happened = replay(written, make_cpu_stepper);
  if (std::getenv("GCOORD_REWRITE") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : happened) {
      file << line << '\n';
    }
    return;
  }
  for (std::size_t k = 0; k < std::min(written.size(), happened.size()); ++k) {
    ASSERT_EQ(written[k], happened[k]) << path.filename() << ":" << k + 1;
  }
  EXPECT_EQ(written.size(), happened.size());
}

class GoldenOnStandIn : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOnStandIn, HappensAsWritten) {
  const std::vector<std::string> written = read_lines(kFolder / (GetParam() + ".txt"));
  const std::vector<std::string> happened =
      replay(written, [](std::uint32_t row_count, std::uint32_t slot_count) {
        return make_device_stepper(std::make_unique<StandInDevice>(),
                                   {.row_count = row_count, .slot_count = slot_count})
            .value();
      });
  EXPECT_EQ(written, happened);
}

class GoldenOnDevice : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOnDevice, HappensAsWritten) {
  constexpr int kDevice = 0;
  if (const auto probe = make_cuda_stepper(kDevice, 1, 1); !probe.ok()) {
    GTEST_SKIP() << "skipped: " << probe.status().message();
  }
  const std::vector<std::string> written = read_lines(kFolder / (GetParam() + ".txt"));
  const std::vector<std::string> happened =
      replay(written, [](std::uint32_t row_count, std::uint32_t slot_count) {
        return make_cuda_stepper(kDevice, row_count, slot_count).value();
      });
  EXPECT_EQ(written, happened);
}

// All of them where there is a device; elsewhere one, which says why it is skipped.
std::vector<std::string> device_scenario_names() {
  std::vector<std::string> names = scenario_names();
  if (!make_cuda_stepper(0, 1, 1).ok()) {
    names.resize(1);
  }
  return names;
}

std::string name_of(const testing::TestParamInfo<std::string>& scenario) {
  return scenario.param;
}

INSTANTIATE_TEST_SUITE_P(Raft, Golden, testing::ValuesIn(scenario_names()), name_of);
INSTANTIATE_TEST_SUITE_P(StandIn, GoldenOnStandIn, testing::ValuesIn(scenario_names()), name_of);
INSTANTIATE_TEST_SUITE_P(Cuda, GoldenOnDevice, testing::ValuesIn(device_scenario_names()), name_of);

}  // namespace
}  // namespace gcoord::consensus::scenario
