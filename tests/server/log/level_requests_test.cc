// Requests for the levels of a node's log: what is answered, changed, refused, and written down.
#include "server/log/level_requests.h"

#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/logs/level_messages.h"
#include "server/log_levels/present.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using testing::AllOf;
using testing::HasSubstr;

class KeptSink final : public protocol::ReplySink {
 public:
  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    last = slot;
    text = protocol::text_of(payload);
  }

  protocol::ReplySlot last;
  std::string text;
};

class LogLevelRequestsTest : public testing::Test {
 protected:
  LogLevelRequestsTest() {
    const auto logger = std::make_shared<spdlog::logger>(
        "node", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_));
    logger->set_pattern("%l %n: %v");
    spdlog::set_default_logger(logger);
    set_log_levels(LogLevels::all(LogLevel::Warning));
  }

  ~LogLevelRequestsTest() override {
    spdlog::set_default_logger(logger_before_);
    set_log_levels(levels_before_);
  }

  void send(const protocol::LogLevelsOrder& order, std::uint16_t flags = 0) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LogLevels;
    slot.flags = flags;
    requests_.on_request(protocol::ConnectionId{3}, slot, protocol::encode_log_levels(order));
  }

  std::uint32_t error() const { return sink_.last.detail; }

  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
  const LogLevels levels_before_ = log_levels();
  std::ostringstream lines_;
  KeptSink sink_;
  LogLevelRequests requests_{sink_};
};

TEST_F(LogLevelRequestsTest, WithoutLevelsThePresentOnesAreShownAndNothingIsWritten) {
  send({"", "ann@build-7"});
  EXPECT_EQ(sink_.last.code, StatusCode::Ok);
  EXPECT_THAT(sink_.text, AllOf(HasSubstr(R"("node":"warn")"), HasSubstr(R"("links":"warn")")));
  EXPECT_EQ(lines_.str(), "");
}

TEST_F(LogLevelRequestsTest, AChangeHoldsAndIsWrittenDownWithWhoAskedWhateverTheLevels) {
  send({"off,peers=debug", "ann@build-7"});
  EXPECT_EQ(sink_.last.code, StatusCode::Ok);
  EXPECT_THAT(sink_.text, AllOf(HasSubstr(R"("node":"off")"), HasSubstr(R"("peers":"debug")")));
  EXPECT_TRUE(log_enabled(LogComponent::Peers, LogLevel::Debug));
  EXPECT_FALSE(log_enabled(LogComponent::Node, LogLevel::Error));
  EXPECT_EQ(lines_.str(),
            "info node: log levels are off,peers=debug until this node ends, and were warn; asked "
            "on connection 3.0, by \"ann@build-7\"\n");
}

// Who asked is a word of the client's, which looked like the line's own.
TEST_F(LogLevelRequestsTest, WhoAsksForgesNoWordsOfTheLine) {
  send({"debug", R"(ann', and root of 10.0.0.1 by "x\)"});
  EXPECT_THAT(lines_.str(),
              HasSubstr(R"(on connection 3.0, by "ann', and root of 10.0.0.1 by \"x\\")"
                        "\n"));
}

// Each of thousands a second was a line, whatever the levels.
TEST_F(LogLevelRequestsTest, LinesAreBoundedAndWhoAsksForWhatHoldsLeavesNone) {
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < 1000; ++k) {
    send({k % 2 == 0 ? "debug" : "off", "ann"});
    send({k % 2 == 0 ? "debug" : "off", "ann"});
  }
  const auto windows = (std::chrono::steady_clock::now() - begin) / LogLevelRequests::kWindow + 1;
  const std::string text = lines_.str();
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 0);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), windows * LogLevelRequests::kLinesMax);
}

TEST_F(LogLevelRequestsTest, WhoAsksWithControlsIsRefused) {
  send({"debug", "ann\x1b[2J"});
  EXPECT_EQ(error(), static_cast<std::uint32_t>(ErrorCode::SlotInvalid));
  EXPECT_EQ(log_levels(), LogLevels::all(LogLevel::Warning));
}

TEST_F(LogLevelRequestsTest, AnUnknownComponentIsNamedAndNothingChanges) {
  send({"debug,peer=off", ""});
  EXPECT_EQ(error(), static_cast<std::uint32_t>(ErrorCode::OptionInvalid));
  EXPECT_THAT(sink_.text, HasSubstr("'peer' is no component of the log; there are node, peers"));
  EXPECT_EQ(log_levels(), LogLevels::all(LogLevel::Warning));
  EXPECT_EQ(lines_.str(), "");
}

TEST_F(LogLevelRequestsTest, FlagsAndBytesThatAreNoOrderAreRefused) {
  send({"debug", ""}, 1);
  EXPECT_EQ(error(), static_cast<std::uint32_t>(ErrorCode::SlotInvalid));
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::LogLevels;
  requests_.on_request(protocol::ConnectionId{3}, slot, {});
  EXPECT_EQ(error(), static_cast<std::uint32_t>(ErrorCode::PayloadMalformed));
}

}  // namespace
}  // namespace gcoord::server
