// Requests that were answered late: which are, what the line says, how many lines there are.
#include "server/lateness/slow_requests.h"

#include "server/log_levels/present.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

namespace gcoord::server {
namespace {

using testing::HasSubstr;

class NamedClients final : public protocol::ReplySink {
 public:
  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId,
             const protocol::ReplySlot&,
             std::span<const std::byte>) override {}

  std::string describe(protocol::ConnectionId) const override { return "the client"; }
};

class SlowRequestsTest : public testing::Test {
 protected:
  SlowRequestsTest() {
    const auto logger = std::make_shared<spdlog::logger>(
        "node", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_));
    logger->set_pattern("%l %n: %v");
    spdlog::set_default_logger(logger);
    set_log_levels(LogLevels::all(LogLevel::Warning));
    request_.kind = protocol::RequestKind::LockRelease;
    request_.request_id = 42;
    request_.shard = 17;
  }

  ~SlowRequestsTest() override {
    spdlog::set_default_logger(logger_before_);
    set_log_levels(levels_before_);
  }

  void add(std::uint64_t now_us) {
    slow_.add({.connection = protocol::ConnectionId{std::uint64_t{2} << 32 | 7},
               .request = request_,
               .started_us = now_us - 1'500'000,
               .spent = "in the log",
               .name = "jobs/\x1b"},
              now_us);
  }

  std::size_t line_count() const {
    const std::string text = lines_.str();
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
  const LogLevels levels_before_ = log_levels();
  std::ostringstream lines_;
  NamedClients clients_;
  MetricsRegistry metrics_;
  SlowRequests slow_{1000, clients_, metrics_};
  protocol::RequestSlot request_;
};

TEST_F(SlowRequestsTest, ARequestIsSlowFromTheLimitOn) {
  EXPECT_FALSE(slow_.is_slow(5'000'000, 5'999'999));
  EXPECT_TRUE(slow_.is_slow(5'000'000, 6'000'000));
  EXPECT_FALSE(slow_.is_slow(5'000'000, 4'000'000));
  MetricsRegistry metrics;
  EXPECT_FALSE(SlowRequests(0, clients_, metrics).is_slow(0, ~std::uint64_t{0} - 1));
}

TEST_F(SlowRequestsTest, TheLineNamesRequestShardClientAndWhereTheTimeWent) {
  add(2'000'000);
  EXPECT_EQ(
      lines_.str(),
      "warning clients: slow request 7.2/42: lock_release \"jobs/\\u{1b}\" of shard 17 took 1.500 "
      "s in the log; the client\n");
}

TEST_F(SlowRequestsTest, ARequestOfTheNodeNamesNoShard) {
  request_.kind = protocol::RequestKind::NodeStatus;
  request_.shard = 0;
  slow_.add({.connection = protocol::ConnectionId{1},
             .request = request_,
             .started_us = 0,
             .spent = "in a queue",
             .name = {}},
            2'000'000);
  EXPECT_THAT(lines_.str(), HasSubstr("slow request 1.0/42: node_status took 2.000 s in a queue;"));
}

TEST_F(SlowRequestsTest, LinesAreBoundedAndTheNextOneCountsTheRest) {
  for (int k = 0; k < 1000; ++k) {
    add(2'000'000);
  }
  EXPECT_EQ(line_count(), SlowRequests::kLinesMax);
  EXPECT_EQ(metrics_.counter({"gcoord_server_slow_requests_total", "", "", ""}).value(), 1000u);
  lines_.str("");
  add(2'000'000 + SlowRequests::kWindowUs);
  EXPECT_EQ(line_count(), 1u);
  EXPECT_THAT(lines_.str(), HasSubstr("; 990 more had no line\n"));
}

TEST_F(SlowRequestsTest, WithoutTheLevelOnlyTheCounterHasThem) {
  set_log_levels(LogLevels::all(LogLevel::Error));
  add(2'000'000);
  EXPECT_EQ(lines_.str(), "");
  EXPECT_EQ(metrics_.counter({"gcoord_server_slow_requests_total", "", "", ""}).value(), 1u);
}

}  // namespace
}  // namespace gcoord::server
