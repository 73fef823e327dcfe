// Lines of a node's log: what is escaped.
#include "server/log/line_formatters.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include <chrono>
#include <string>

namespace gcoord::server {
namespace {

std::string formatted(spdlog::formatter& formatter, const char* message) {
  spdlog::details::log_msg line(spdlog::log_clock::time_point(std::chrono::milliseconds(1007)),
                                spdlog::source_loc{"server/peers/x.cc", 1, ""},
                                "peers",
                                spdlog::level::warn,
                                message);
  spdlog::memory_buf_t out;
  formatter.format(line, out);
  return {out.data(), out.size()};
}

TEST(LogLinesTest, TextEscapesWhatActsOnATerminal) {
  const std::string line =
      formatted(*make_text_formatter(NodeId{3}), "a\x1b[31m\nb \xe2\x80\xae Z\xc3\xbcrich");
  EXPECT_TRUE(line.ends_with(" node 3 peers: a\\u{1b}[31m\\u{a}b \\u{202e} Z\xc3\xbcrich\n"))
      << line;
}

// One that joins has no number yet.
TEST(LogLinesTest, ANodeThatDoesNotKnowItsNumberNamesNone) {
  EXPECT_NE(formatted(*make_text_formatter(NodeId{}), "a").find(" node ? peers: a\n"),
            std::string::npos);
}

TEST(LogLinesTest, AJsonLineHasTheTimeInUtc) {
  EXPECT_EQ(formatted(*make_json_formatter(NodeId{3}), "a\t\"b\xff\xc2\x9b"),
            "{\"time\":\"1970-01-01T00:00:01.007Z\",\"level\":\"warning\","
            "\"node\":3,\"component\":\"peers\",\"message\":\"a\\t\\\"b\xef\xbf\xbd\\u009b\"}\n");
}

}  // namespace
}  // namespace gcoord::server
