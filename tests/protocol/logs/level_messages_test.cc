// Payloads of requests for levels of a node's log.
#include "protocol/logs/level_messages.h"

#include "protocol/error_codes.h"
#include "protocol/limits.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

namespace gcoord::protocol {
namespace {

TEST(LevelMessages, AnOrderIsReadBack) {
  for (const LogLevelsOrder& order : {LogLevelsOrder{"info,peers=debug", "ann@build-7"},
                                      LogLevelsOrder{"", "ann"},
                                      LogLevelsOrder{"off", ""}}) {
    const auto bytes = encode_log_levels(order);
    const auto decoded = decode_log_levels(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded.value().levels, order.levels);
    EXPECT_EQ(decoded.value().who, order.who);
  }
}

TEST(LevelMessages, WhatIsCutOffOrTooLongIsRefused) {
  const auto refused = [](std::span<const std::byte> bytes) {
    return decode_log_levels(bytes).status().detail() ==
           static_cast<std::uint32_t>(ErrorCode::PayloadMalformed);
  };
  const auto bytes = encode_log_levels({"info,peers=debug", ""});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(refused(std::span{bytes}.first(size))) << size;
  }
  EXPECT_TRUE(refused(encode_log_levels({std::string(kLogLevelsBytesMax + 1, 'x'), ""})));
  EXPECT_TRUE(refused(encode_log_levels({"", std::string(kBreakWhoBytesMax + 1, 'x')})));
}

}  // namespace
}  // namespace gcoord::protocol
