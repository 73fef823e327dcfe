#include "cli/terminal/output.h"

#include <gtest/gtest.h>

namespace gcoord::cli {
namespace {

std::string printed(const Table& table) {
  testing::internal::CaptureStdout();
  Output{Format::Tables}.print(Json::object(), table);
  return testing::internal::GetCapturedStdout();
}

TEST(Output, ColumnsAreAsWideAsATerminalShowsThem) {
  EXPECT_EQ(
      printed({.columns = {"NAME", "TOKEN"},
               .rows = {{"Schl\u00fcssel", "1"}, {"\u65e5\u672c\u8a9e", "2"}, {"e\u0301", "3"}}}),
      "NAME       TOKEN\n"
      "Schl\u00fcssel  1\n"
      "\u65e5\u672c\u8a9e     2\n"
      "e\u0301          3\n");
}

TEST(Output, A12NothingOfATableControlsTheTerminal) {
  EXPECT_EQ(printed({.columns = {"NAME", "TOKEN"},
                     .rows = {{"\u009b2J", "1"}},
                     .caption = "a\x1b[2J",
                     .notes = {"\u202e"}}),
            "a\\u{1b}[2J\n"
            "NAME      TOKEN\n"
            "\\u{9b}2J  1\n"
            "\\u{202e}\n");
}

TEST(Output, AListOfFactsIsNoJson) {
  testing::internal::CaptureStdout();
  Output{Format::Tables}.print_facts(
      {{"nodes", {1, 2, 3}},
       {"waiters", Json::array()},
       {"holders",
        {Json{{"session", "7"}, {"token", "3"}}, Json{{"session", "8"}, {"token", "4"}}}},
       {"latency", Json{{"p50", 1}, {"p99", 2}}}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "nodes    1, 2, 3\n"
            "waiters  \n"
            "holders  session=7 token=3\n"
            "         session=8 token=4\n"
            "latency  p50=1 p99=2\n");
}

TEST(Output, ATableWithoutColumnsHasNoHeader) {
  EXPECT_EQ(printed({.columns = {}, .rows = {}, .caption = "well", .notes = {"done"}}),
            "well\ndone\n");
}

TEST(Output, A12NorDoFactsAndErrors) {
  testing::internal::CaptureStdout();
  Output{Format::Tables}.print_facts({{"na\u009bme", "a\nb"}, {"b", {"\u202e"}}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "na\\u{9b}me  a\\u{a}b\nb           \\u{202e}\n");
  testing::internal::CaptureStderr();
  Output{Format::Tables}.fail(Status{StatusCode::Internal, "\x1b[31m"}, {"node 1: \a"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gcoordctl: INTERNAL: \\u{1b}[31m\n  node 1: \\u{7}\n");
}

}  // namespace
}  // namespace gcoord::cli
