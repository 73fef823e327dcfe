#include "cli/maelstrom/register_service.h"

#include "common/crc32c.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr ShardId kShard{1};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

struct Registers {
  RegisterService service{
      2,
      [this](std::uint64_t, const auto& body) { answers.push_back(body.dump()); },
      [](NodeId, std::span<const std::byte>) {}};
  std::vector<std::string> answers = {};

  void apply(std::string_view command) {
    service.apply({.shard = kShard,
                   .index = {},
                   .term = {},
                   .payload = bytes_of(command),
                   .leaf = {},
                   .cookie = 1});
  }

  std::string state() {
    std::vector<std::byte> bytes;
    service.serialize(kShard, bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// As nodes have it on their disks.
constexpr std::string_view kState =
    "{\"\\\"b\\\"\":\"{\\\"a\\\":\\\"\\\\u001b "
    "\u009b\\\"}\",\"\\\"\u00fc\\\"\":\"null\",\"1\":\"[2.0]\"}";

TEST(RegisterService, KeepsTheBytesOfAShardsState) {
  Registers registers;
  EXPECT_EQ(registers.state(), "");
  registers.apply("{\"key\":\"\\\"\u00fc\\\"\",\"op\":\"write\",\"value\":\"null\"}");
  registers.apply(R"({"key":"1","op":"write","value":"[2.0]"})");
  registers.apply(
      "{\"key\":\"\\\"b\\\"\",\"op\":\"write\",\"value\":\"{\\\"a\\\":\\\"\\\\u001b "
      "\u009b\\\"}\"}");
  EXPECT_EQ(registers.state(), kState);
  EXPECT_EQ(registers.service.state_hash(kShard), crc32c(bytes_of(kState)));
  Registers copy;
  ASSERT_TRUE(copy.service.install(kShard, bytes_of(kState)).ok());
  EXPECT_EQ(copy.state(), kState);
}

TEST(RegisterService, RefusesAStateThatHoldsMoreThanTexts) {
  Registers registers;
  for (const char* state : {"[]", "{\"1\":2}", "{\"1\":", "null"}) {
    EXPECT_FALSE(registers.service.plausible(kShard, bytes_of(state))) << state;
    EXPECT_EQ(registers.service.install(kShard, bytes_of(state)).code(), StatusCode::DataLoss);
  }
  EXPECT_TRUE(registers.service.plausible(kShard, bytes_of("{}")));
}

// A node decides what it logs, but a command may come from another one.
TEST(RegisterService, OutlivesACommandWhoseMembersAreNoTexts) {
  Registers registers;
  for (const char* command : {R"({"op":"write","key":"1","value":5})",
                              R"({"op":"cas","key":"1","from":[],"value":{},"create":"yes"})",
                              R"({"op":7,"key":null})",
                              "[]",
                              ""}) {
    registers.apply(command);
  }
  EXPECT_EQ(registers.answers.size(), 5U);
}

}  // namespace
}  // namespace gcoord::cli
