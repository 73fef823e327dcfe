#include "chaos/check/operation.h"

#include "chaos/check/checks.h"
#include "chaos/check/history_file.h"
#include "tests/scratch_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

using testing::HasSubstr;

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

TEST(OperationLine, AnOperationSurvivesBeingWrittenAndRead) {
  for (const Op op : {Op::Acquire,
                      Op::Release,
                      Op::Check,
                      Op::Abandon,
                      Op::SessionLost,
                      Op::Close,
                      Op::Renew,
                      Op::Read,
                      Op::Write,
                      Op::Cas,
                      Op::Add}) {
    Operation written = example();
    written.op = op;
    written.outcome = Outcome::Unknown;
    written.verdict = op == Op::Check ? TokenState::Past : TokenState::None;
    written.expected = op == Op::Check ? TokenState::Valid : TokenState::None;
    written.already_held = true;
    written.reason = Reason::NotHeld;
    written.sequence = 9;
    written.shard = 3;
    written.ttl_ms = 250;
    written.value = "v";
    written.from = "u";
    written.delta = op == Op::Add ? -4 : 0;
    const auto read = parse_operation(to_json_line(written));
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(to_json_line(read.value()), to_json_line(written));
    EXPECT_EQ(read.value().session, written.session);
    EXPECT_EQ(read.value().token, written.token);
  }
}

TEST(OperationLine, NumbersOfSixtyFourBitsAreStrings) {
  EXPECT_NE(to_json_line(example()).find("\"session\":\"18446744073709551614\""),
            std::string::npos);
}

TEST(OperationLine, ALineOfAnotherFormIsRefused) {
  for (const char* line : {"", "{", "[]", "{}", "{\"args\":{},\"op\":\"fly\"}", "{\"args\":7}"}) {
    EXPECT_FALSE(parse_operation(line).ok()) << line;
  }
}

TEST(OperationLine, WhatCannotBeIsRefusedWithItsMember) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string line = to_json_line(example());
    line.replace(line.find(from), from.size(), to);
    const auto read = parse_operation(line);
    return read.ok() ? "" : read.status().message();
  };
  EXPECT_THAT(refused("\"call\":\"1000\"", "\"call\":\"12x\""), HasSubstr("call"));
  EXPECT_THAT(refused("\"call\":\"1000\"", "\"call\":\"-1\""), HasSubstr("call"));
  EXPECT_THAT(refused("\"call\":\"1000\"", "\"call\":\"3000\""), HasSubstr("before it was called"));
  EXPECT_THAT(refused("\"outcome\":\"ok\"", "\"outcome\":\"fine\""), HasSubstr("outcome"));
  EXPECT_THAT(refused("\"token\":\"42\"", "\"token\":[]"), HasSubstr("token"));
  EXPECT_THAT(refused("\"kind\":\"wait\"", "\"kind\":true"), HasSubstr("kind"));
}

TEST(OperationLine, NumbersNeedNotBeStringsToBeRead) {
  std::string line = to_json_line(example());
  line.replace(line.find("\"1000\""), 6, "1000");
  ASSERT_TRUE(parse_operation(line).ok());
  EXPECT_EQ(parse_operation(line).value().call_ns, 1000u);
}

TEST(OperationLine, ValuesAndKeysMayHoldAnything) {
  Operation written = example();
  written.op = Op::Cas;
  written.key = "a\"b\\c\n";
  written.value = std::string("x\0y", 3);
  written.from = "\xc3\xa9";
  const auto read = parse_operation(to_json_line(written));
  ASSERT_TRUE(read.ok()) << to_json_line(written);
  EXPECT_EQ(read.value().key, written.key);
  EXPECT_EQ(read.value().value, written.value);
  EXPECT_EQ(read.value().from, written.from);
}

TEST(HistoryFile, ALineCutShortByAKilledWriterIsLeftOutAndNamed) {
  const ScratchFolder folder;
  const auto file = folder.path() / "history_file.jsonl";
  std::ofstream{file} << to_json_line(example()) << "\n" << to_json_line(example()).substr(0, 30);
  History history;
  EXPECT_TRUE(read_history(file, history).ok());
  EXPECT_EQ(history.operations.size(), 1u);
  EXPECT_EQ(history.torn_files, std::vector{file.string()});
  EXPECT_EQ(history.bad_line_count, 0u);
}

TEST(HistoryFile, BadLinesAreCountedByTheirNumber) {
  const ScratchFolder folder;
  const auto file = folder.path() / "history_bad.jsonl";
  Operation second = example();
  second.key = "another";
  {
    std::ofstream out{file};
    out << to_json_line(example()) << "\n{}\n" << to_json_line(second) << "\nnonsense\n";
    for (int extra = 0; extra < 20; ++extra) {
      out << "\n";
    }
  }
  History history;
  EXPECT_TRUE(read_history(file, history).ok());
  EXPECT_EQ(history.operations.size(), 2u);
  EXPECT_EQ(history.bad_line_count, 22u);
  ASSERT_EQ(history.bad_lines.size(), kBadLinesMax);
  EXPECT_EQ(history.bad_lines[0].line, 2u);
  EXPECT_EQ(history.bad_lines[1].line, 4u);
  EXPECT_EQ(check_run(history, {}, {}).verdict, Verdict::Undecided) << "an operation is missing";
}

TEST(HistoryFile, AFileThatIsNotThereIsAnError) {
  History history;
  EXPECT_FALSE(read_history("no/such/file.jsonl", history).ok());
  EXPECT_FALSE(read_history(ScratchFolder{}.path(), history).ok());
}

TEST(HistoryFile, WhatIsWrittenIsRead) {
  const ScratchFolder folder;
  const auto file = folder.path() / "history_written.jsonl";
  auto writer = HistoryWriter::open(file);
  ASSERT_TRUE(writer.ok());
  for (int count = 0; count < 1000; ++count) {
    writer.value()->write(example());
  }
  EXPECT_TRUE(writer.value()->close());
  History history;
  EXPECT_TRUE(read_history(file, history).ok());
  EXPECT_EQ(history.operations.size(), 1000u);
}

}  // namespace
}  // namespace gcoord::chaos
