// Payloads of breaks and of what sessions lost by them.
#include "protocol/force_messages.h"

#include "protocol/validate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

TEST(ForceMessages, ABreakIsReadBackAndNoPartOfIt) {
  const auto bytes =
      encode_break({.all = true, .name = "jobs/a", .who = "ann@ops", .reason = "it hangs"});
  const auto whole = decode_break(bytes);
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole.value().all);
  EXPECT_EQ(whole.value().name, "jobs/a");
  EXPECT_EQ(whole.value().who, "ann@ops");
  EXPECT_EQ(whole.value().reason, "it hangs");
  const std::size_t fixed = 1 + 2 + 6 + 2 + 7;
  for (std::size_t size = 0; size < fixed; ++size) {
    EXPECT_FALSE(decode_break(std::span{bytes}.first(size)).ok()) << size;
  }
  auto odd = bytes;
  odd[0] = std::byte{2};
  EXPECT_FALSE(decode_break(odd).ok());
}

TEST(ForceMessages, ABreakSaysWhoAndWhyWithinBounds) {
  const auto judged = [](std::string_view who, std::string_view reason) {
    return check_break({.name = "a", .who = who, .reason = reason});
  };
  EXPECT_EQ(judged("ann", "x"), ErrorCode::None);
  EXPECT_EQ(judged(std::string(kBreakWhoBytesMax, 'w'), std::string(kNoteBytesMax, 'r')),
            ErrorCode::None);
  EXPECT_EQ(judged("", "x"), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged("ann", ""), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged(std::string(kBreakWhoBytesMax + 1, 'w'), "x"), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged("ann", std::string(kNoteBytesMax + 1, 'r')), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged("ann", "\xff"), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged("ann", "a\nb"), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged("ann", "\u009b2J"), ErrorCode::BreakUnexplained);
  EXPECT_EQ(judged("ann\u202e", "x"), ErrorCode::BreakUnexplained);
  EXPECT_EQ(check_break({.name = "", .who = "ann", .reason = "x"}), ErrorCode::NameEmpty);
}

TEST(ForceMessages, LossesAreReadBackAndTheirCountIsNotTrusted) {
  const std::vector<LossEntry> losses = {{FencingToken{7}, LogIndex{12}, ShardId{3}, "a"},
                                         {FencingToken{9}, LogIndex{40}, ShardId{0}, "jobs/b"}};
  auto bytes = encode_losses(losses);
  const auto read = decode_losses(bytes);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read.value().size(), 2u);
  EXPECT_EQ(read.value()[1].name, "jobs/b");
  EXPECT_EQ(read.value()[1].token, FencingToken{9});
  EXPECT_EQ(read.value()[1].broken_at, LogIndex{40});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_losses(std::span{bytes}.first(size)).ok()) << size;
  }
  bytes[3] = std::byte{0xff};
  EXPECT_FALSE(decode_losses(bytes).ok());
}

TEST(ForceMessages, AnAcquireCarriesItsDelay) {
  const auto bytes = encode_hold({.delay_ms = 60'000, .name = "a"});
  ASSERT_TRUE(decode_hold(bytes).ok());
  EXPECT_EQ(decode_hold(bytes).value().delay_ms, 60'000u);
  EXPECT_EQ(check_hold(decode_hold(bytes).value()), ErrorCode::None);
  EXPECT_EQ(check_hold({.delay_ms = 60'001, .name = "a"}), ErrorCode::DelayTooLong);
  EXPECT_EQ(check_hold({.flags = 2, .permits = 1, .delay_ms = 1, .name = "a"}),
            ErrorCode::HoldInvalid);
}

}  // namespace
}  // namespace gcoord::protocol
