#include "server/platform/operator_log.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>

namespace gcoord::server {
namespace {

// Words of a peer may neither control a terminal nor look like another line.
TEST(OperatorLog, A12WordsFromOutsideStayOnTheirLineAndArePrintable) {
  std::ostringstream lines;
  const auto before = spdlog::default_logger();
  const auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
  logger->set_pattern("%v");
  spdlog::set_default_logger(logger);
  log_warning("peer {} says '{}'", 2, "\x1b[2J\nnode 1: all is well\u202e");
  spdlog::set_default_logger(before);
  EXPECT_EQ(lines.str(), "peer 2 says '\\u{1b}[2J\\u{a}node 1: all is well\\u{202e}'\n");
}

}  // namespace
}  // namespace gcoord::server
