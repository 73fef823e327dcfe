// Payloads of elections: there and back, and cut off anywhere.
#include "protocol/election_messages.h"

#include "protocol/lock_messages.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::protocol {
namespace {

CandidateList sample() {
  return {.leader = SessionId{5},
          .epoch = FencingToken{9},
          .ttl_left_ms = 1234,
          .wanted = SessionId{7},
          .waiter_count = 2,
          .value = std::string{"a:\0\xff", 4},
          .candidates = {{SessionId{6}, RequestSequence{3}, 50, 0, ""},
                         {SessionId{7}, RequestSequence{4}, 20, 255, std::string(512, 'v')}}};
}

TEST(ElectionMessages, ComeBackAsTheyWere) {
  const auto said = encode_proclamation({"chief", "a:1"});
  EXPECT_EQ(decode_proclamation(said).value().name, "chief");
  EXPECT_EQ(decode_proclamation(said).value().value, "a:1");
  const auto named = encode_nomination({SessionId{7}, "chief"});
  EXPECT_EQ(decode_nomination(named).value().target, SessionId{7});
  EXPECT_EQ(decode_nomination(named).value().name, "chief");
  const auto list = decode_candidates(encode_candidates(sample()));
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list.value().leader, SessionId{5});
  EXPECT_EQ(list.value().epoch, FencingToken{9});
  EXPECT_EQ(list.value().wanted, SessionId{7});
  EXPECT_EQ(list.value().value, sample().value);
  ASSERT_EQ(list.value().candidates.size(), 2u);
  EXPECT_EQ(list.value().candidates[1].rank, 255u);
  EXPECT_EQ(list.value().candidates[1].sequence, RequestSequence{4});
  EXPECT_EQ(list.value().candidates[1].value.size(), 512u);
}

TEST(ElectionMessages, CutOffAnywhereAListIsRefused) {
  const auto whole = encode_candidates(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_candidates(std::span{whole}.first(size)).ok()) << size;
  }
  auto more = whole;
  more.push_back(std::byte{0});
  EXPECT_FALSE(decode_candidates(more).ok());
}

TEST(ElectionMessages, CountsAreNotTrusted) {
  auto bytes = encode_candidates({});
  bytes[bytes.size() - 1] = std::byte{0xff};
  EXPECT_FALSE(decode_candidates(bytes).ok());
  EXPECT_FALSE(decode_proclamation(bytes_of("\x06")).ok());
  EXPECT_FALSE(decode_proclamation(bytes_of(std::string_view{"\x06\x00"
                                                             "chie",
                                                             6}))
                   .ok());
  EXPECT_FALSE(decode_nomination(bytes_of("1234567")).ok());
}

}  // namespace
}  // namespace gcoord::protocol
