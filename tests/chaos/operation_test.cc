#include "chaos/demo/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gcoord::chaos {
namespace {

Operation example() {
  return {.process = 3,
          .op = Op::Acquire,
          .outcome = Outcome::Ok,
          .kind = AcquireKind::Wait,
          .key = "demo/shared/7",
          .session = 0xffff'ffff'ffff'fffe,
          .token = 42,
          .call_ns = 1000,
          .return_ns = 2000};
}

TEST(DemoHistory, AnOperationSurvivesBeingWrittenAndRead) {
  for (const Op op : {Op::Acquire, Op::Release, Op::Check, Op::Abandon, Op::SessionLost}) {
    Operation written = example();
    written.op = op;
    written.outcome = Outcome::Unknown;
    written.verdict = op == Op::Check ? TokenState::Past : TokenState::None;
    written.expected = op == Op::Check ? TokenState::Valid : TokenState::None;
    written.already_held = true;
    const auto read = parse_operation(to_json_line(written));
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(to_json_line(read.value()), to_json_line(written));
    EXPECT_EQ(read.value().session, written.session);
    EXPECT_EQ(read.value().token, written.token);
  }
}

TEST(DemoHistory, NumbersOfSixtyFourBitsAreStrings) {
  EXPECT_NE(to_json_line(example()).find("\"session\":\"18446744073709551614\""),
            std::string::npos);
}

TEST(DemoHistory, ALineOfAnotherFormIsRefused) {
  for (const char* line : {"", "{", "[]", "{}", "{\"args\":{},\"op\":\"fly\"}", "{\"args\":7}"}) {
    EXPECT_FALSE(parse_operation(line).ok()) << line;
  }
}

TEST(DemoHistory, ALineCutShortByAKilledWriterIsLeftOut) {
  const auto file = std::filesystem::path{testing::TempDir()} / "demo_history_test.jsonl";
  std::ofstream{file} << to_json_line(example()) << "\n" << to_json_line(example()).substr(0, 30);
  std::vector<Operation> operations;
  EXPECT_TRUE(read_history(file, operations).ok());
  EXPECT_EQ(operations.size(), 1u);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace gcoord::chaos
