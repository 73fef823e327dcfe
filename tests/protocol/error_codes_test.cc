#include "protocol/error_codes.h"

#include "tests/source_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace gcoord::protocol {
namespace {

using ::testing::HasSubstr;

std::string documented_errors() {
  std::ifstream file{in_sources("docs/reference/errors.md")};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The row of docs/reference/errors.md for an entry.
std::string row_of(const ErrorEntry& entry) {
  std::stringstream row;
  row << "| GC" << static_cast<std::uint32_t>(entry.code) << " | " << entry.name << " | "
      << static_cast<int>(entry.exit) << " | " << entry.cause << " | " << entry.fix << " |";
  return row.str();
}

TEST(ErrorCodes, WhatPassesIsUnavailableAndNeverAnAnswerAboutALock) {
  EXPECT_TRUE(is_passing(ErrorCode::NotReady));
  EXPECT_TRUE(is_passing(ErrorCode::NoLeader));
  EXPECT_FALSE(is_passing(ErrorCode::NotLeader));
  for (const ErrorEntry& entry : error_table()) {
    EXPECT_TRUE(!is_passing(entry.code) || entry.exit == ExitCode::Unavailable) << entry.name;
  }
}

TEST(ErrorCodes, AreUniqueAndInRisingOrder) {
  std::uint32_t last = 1000;
  std::set<std::string_view> names;
  for (const ErrorEntry& entry : error_table()) {
    EXPECT_GT(static_cast<std::uint32_t>(entry.code), last);
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    last = static_cast<std::uint32_t>(entry.code);
  }
}

TEST(ErrorCodes, AreDocumentedWordForWord) {
  const std::string text = documented_errors();
  for (const ErrorEntry& entry : error_table()) {
    EXPECT_THAT(text, HasSubstr(row_of(entry)));
  }
}

TEST(ErrorCodes, AreAllThatTheDocumentNames) {
  std::istringstream lines{documented_errors()};
  std::size_t row_count = 0;
  for (std::string line; std::getline(lines, line);) {
    row_count += line.starts_with("| GC") ? 1 : 0;
  }
  EXPECT_EQ(row_count, error_table().size());
}

TEST(ErrorCodes, SayWhatHappenedAndWhatToDo) {
  for (const ErrorEntry& entry : error_table()) {
    EXPECT_NE(entry.status, StatusCode::Ok);
    EXPECT_NE(entry.exit, ExitCode::Ok);
    EXPECT_FALSE(entry.cause.empty());
    EXPECT_NE(entry.cause.back(), '.');
    EXPECT_NE(entry.fix.back(), '.');
    EXPECT_TRUE(entry.fix[0] >= 'A' && entry.fix[0] <= 'Z') << entry.fix;
  }
}

TEST(ErrorCodes, TheFixOfAFreeLockFitsEveryVerbThatMeetsIt) {
  const std::string fix{find_error(6002)->fix};
  for (const char* verb : {"release", "break", "move"}) {
    EXPECT_THAT(fix, HasSubstr(verb));
  }
}

TEST(ErrorCodes, AreFoundByNumber) {
  EXPECT_EQ(find_error(6001)->code, ErrorCode::LockBusy);
  EXPECT_EQ(find_error(0), nullptr);
  EXPECT_EQ(find_error(9999), nullptr);
}

TEST(ErrorCodes, DecideTheExitCode) {
  EXPECT_EQ(exit_code(make_error(ErrorCode::LockBusy)), ExitCode::Conflict);
  EXPECT_EQ(exit_code(make_error(ErrorCode::Unreachable)), ExitCode::Unreachable);
  EXPECT_EQ(exit_code(make_error(ErrorCode::TokenStale)), ExitCode::Negative);
  EXPECT_EQ(exit_code(make_error(ErrorCode::NameEmpty)), ExitCode::Usage);
  EXPECT_EQ(exit_code(make_error(ErrorCode::NoLeader)), ExitCode::Unavailable);
  EXPECT_EQ(exit_code(Status{}), ExitCode::Ok);
  EXPECT_EQ(exit_code(Status{StatusCode::Unauthenticated, "who?"}), ExitCode::Auth);
}

TEST(ErrorCodes, MakeAMessageOfCauseEvidenceAndFix) {
  const Status status = make_error(ErrorCode::LockBusy, "token 7");
  EXPECT_EQ(status.message(),
            "the lock is held by another session (token 7). Wait for it with --wait, or try again "
            "later.");
  EXPECT_EQ(status.detail(), 6001u);
}

}  // namespace
}  // namespace gcoord::protocol
