// Lines of a node's log: what is escaped.
#include "server/log/line_formatters.h"

#include "server/log/escaped_text.h"

#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include <chrono>
#include <string>

namespace gcoord::server {
namespace {

TEST(LogLinesTest, TextEscapesWhatActsOnATerminalAndNothingElse) {
  EXPECT_EQ(escape_for_text("a\x1b[31m\nb"), "a\\u{1b}[31m\\u{a}b");
  EXPECT_EQ(escape_for_text("\xc2\x9b\xe2\x80\xae\xe2\x80\xa8"), "\\u{9b}\\u{202e}\\u{2028}");
  EXPECT_EQ(escape_for_text("\xff\xc2"), "\\x{ff}\\x{c2}");
  EXPECT_EQ(escape_for_text("Z\xc3\xbcrich \\ \xf0\x9f\x94\x92"),
            "Z\xc3\xbcrich \\ \xf0\x9f\x94\x92");
}

TEST(LogLinesTest, JsonIsAlwaysAStringOfUtf8) {
  EXPECT_EQ(escape_for_json("a\"\\\n\x1b"), "a\\\"\\\\\\u000a\\u001b");
  EXPECT_EQ(escape_for_json("\xff\xe2\x80\xae"), "\\ufffd\\u202e");
}

TEST(LogLinesTest, AJsonLineHasTheTimeInUtc) {
  spdlog::details::log_msg line(spdlog::log_clock::time_point(std::chrono::milliseconds(1007)),
                                spdlog::source_loc{"server/peers/x.cc", 1, ""},
                                "gcoordd",
                                spdlog::level::warn,
                                "a\tb");
  spdlog::memory_buf_t out;
  make_json_formatter(NodeId{3})->format(line, out);
  EXPECT_EQ(std::string(out.data(), out.size()),
            "{\"time\":\"1970-01-01T00:00:01.007Z\",\"level\":\"warning\","
            "\"node\":3,\"message\":\"a\\u0009b\"}\n");
}

}  // namespace
}  // namespace gcoord::server
