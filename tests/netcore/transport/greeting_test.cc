#include "netcore/transport/greeting.h"

#include "common/incarnation.h"
#include "tests/netcore/frame_samples.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::netcore {
namespace {

Greeting greeting(std::uint32_t from, std::uint32_t to) {
  Greeting result;
  result.from = {ClusterId{7}, NodeId{from}, Incarnation{3}, DirectoryId{from * 100}};
  result.to = NodeId{to};
  result.epoch = 1;
  result.ring_slots = {8, 8, 8, 8};
  return result;
}

CallerRecord known() {
  CallerRecord record;
  record.is_configured = true;
  return record;
}

Greeting round_trip(const Greeting& sent, DropReason expected = DropReason::None) {
  alignas(64) std::array<std::byte, kGreetingBytes> bytes;
  encode_greeting(FrameKind::Hello, sent, bytes);
  FrameView frame;
  EXPECT_EQ(decode_frame(bytes, frame), DropReason::None);
  Greeting received;
  EXPECT_EQ(decode_greeting(frame, received), expected);
  return received;
}

TEST(Greeting, ComesBackAsItWasEncoded) {
  const Greeting received = round_trip(greeting(1, 2));
  EXPECT_EQ(received.from.cluster, ClusterId{7});
  EXPECT_EQ(received.from.node, NodeId{1});
  EXPECT_EQ(received.from.incarnation, Incarnation{3});
  EXPECT_EQ(received.from.directory, DirectoryId{100});
  EXPECT_EQ(received.to, NodeId{2});
  EXPECT_EQ(received.ring_slots, (std::array<std::uint32_t, kBandCount>{8, 8, 8, 8}));
}

TEST(Greeting, ImplausibleClaimsAreBadFields) {
  Greeting rings = greeting(1, 2);
  rings.ring_slots[1] = 12;
  round_trip(rings, DropReason::BadField);
  Greeting epoch = greeting(1, 2);
  epoch.epoch = ~0u;
  round_trip(epoch, DropReason::BadField);
  Greeting life = greeting(1, 2);
  life.from.incarnation = Incarnation{~0u};
  round_trip(life, DropReason::BadField);
}

TEST(Greeting, ARefusalCarriesPrintableTextOnly) {
  alignas(64) std::array<std::byte, kStrangerBytesMax> bytes;
  const Refusal sent{RefusalCode::WrongCluster, "no\x1b[31m way" + std::string(2000, 'x')};
  const std::size_t length = encode_refusal(greeting(1, 2), sent, bytes);
  FrameView frame;
  ASSERT_EQ(decode_frame({bytes.data(), length}, frame), DropReason::None);
  Refusal received;
  ASSERT_EQ(decode_refusal(frame, received), DropReason::None);
  EXPECT_EQ(received.code, RefusalCode::WrongCluster);
  EXPECT_EQ(received.text.size(), kRefusalTextBytesMax);
  EXPECT_EQ(received.text.substr(0, 10), "no?[31m wa");
}

TEST(Greeting, ARefusalCarriesTheHighestIncarnationThatWasMet) {
  alignas(64) std::array<std::byte, kStrangerBytesMax> bytes;
  CallerRecord record = known();
  record.incarnation = incarnation_of(2, 9);
  const Admission admission = judge_hello(greeting(1, 2), greeting(2, 1), record);
  ASSERT_EQ(admission.code, RefusalCode::OldIncarnation);
  const std::size_t length =
      encode_refusal(greeting(2, 1), {admission.code, admission.text, admission.known}, bytes);
  FrameView frame;
  ASSERT_EQ(decode_frame({bytes.data(), length}, frame), DropReason::None);
  Refusal received;
  ASSERT_EQ(decode_refusal(frame, received), DropReason::None);
  EXPECT_EQ(received.known, incarnation_of(2, 9));
}

TEST(Greeting, ARefusalThatNamesAnImpossibleIncarnationIsDropped) {
  alignas(64) std::array<std::byte, kStrangerBytesMax> bytes;
  for (const Incarnation known : {incarnation_of(7, 0), incarnation_of(0, kStartMax + 1)}) {
    const std::size_t length = encode_refusal(
        greeting(2, 1), {RefusalCode::ReplacedDirectory, "another directory", known}, bytes);
    FrameView frame;
    ASSERT_EQ(decode_frame({bytes.data(), length}, frame), DropReason::None);
    Refusal received;
    EXPECT_EQ(decode_refusal(frame, received), DropReason::BadField);
  }
}

TEST(Greeting, EpochsOfTheNextDirectoryStayWithinTheirBoundAndRise) {
  Greeting hello = greeting(1, 2);
  hello.from.incarnation = incarnation_of(0, 900);
  const std::uint32_t before = next_epoch(hello, Incarnation{1}, 0);
  hello.from.incarnation = incarnation_of(1, 1);
  EXPECT_GT(next_epoch(hello, Incarnation{1}, 0), before);
  hello.from.incarnation = incarnation_of(kGenerationMax, kStartMax);
  round_trip(hello);
  EXPECT_LE(next_epoch(hello, hello.from.incarnation, 0), kEpochMax);
}

TEST(Greeting, ACallFromAKnownNodeIsAdmitted) {
  EXPECT_TRUE(judge_hello(greeting(1, 2), greeting(2, 1), known()).admitted());
}

TEST(Greeting, ANodeOfTheClusterWhosePlaceThisOneTookIsToldSo) {
  Greeting old = greeting(1, 2);
  old.from.cluster = ClusterId{8};
  Greeting self = greeting(2, 1);
  self.former = ClusterId{8};
  const Admission refused = judge_hello(old, self, known());
  EXPECT_EQ(refused.code, RefusalCode::WrongCluster);
  EXPECT_NE(refused.text.find("cluster 8 is retired"), std::string::npos) << refused.text;
  EXPECT_NE(refused.text.find("node 1 of the old one was removed"), std::string::npos);
  EXPECT_LE(refused.text.size(), kRefusalTextBytesMax);
  old.from.cluster = ClusterId{9};
  EXPECT_EQ(judge_hello(old, self, known()).text.find("retired"), std::string::npos);
  self.former = ClusterId{0};
  old.from.cluster = ClusterId{0};
  EXPECT_EQ(judge_hello(old, self, known()).text.find("retired"), std::string::npos);
}

TEST(Greeting, WhoDoesNotBelongHereIsRefusedWithACause) {
  Greeting cluster = greeting(1, 2);
  cluster.from.cluster = ClusterId{8};
  EXPECT_EQ(judge_hello(cluster, greeting(2, 1), known()).code, RefusalCode::WrongCluster);
  EXPECT_EQ(judge_hello(greeting(1, 3), greeting(2, 1), known()).code, RefusalCode::UnknownNode);
  EXPECT_EQ(judge_hello(greeting(1, 2), greeting(2, 1), {}).code, RefusalCode::UnknownNode);
  EXPECT_EQ(judge_hello(greeting(2, 2), greeting(2, 2), known()).code, RefusalCode::DuplicateNode);
  Greeting protocol = greeting(1, 2);
  protocol.protocol = kPeerProtocol - 1;
  EXPECT_EQ(judge_hello(protocol, greeting(2, 1), known()).code, RefusalCode::WrongVersion);
}

TEST(Greeting, AnEarlierLifeIsRefused) {
  CallerRecord record = known();
  record.incarnation = Incarnation{4};
  EXPECT_EQ(judge_hello(greeting(1, 2), greeting(2, 1), record).code, RefusalCode::OldIncarnation);
}

TEST(Greeting, ASecondDirectoryUnderALiveIdIsADuplicate) {
  CallerRecord record = known();
  record.is_up = true;
  record.incarnation = Incarnation{3};
  record.directory = DirectoryId{55};
  EXPECT_EQ(judge_hello(greeting(1, 2), greeting(2, 1), record).code, RefusalCode::DuplicateNode);
  record.is_up = false;
  EXPECT_TRUE(judge_hello(greeting(1, 2), greeting(2, 1), record).admitted());
}

TEST(Greeting, AnotherProcessUnderALiveIdIsADuplicateAndNoOldCopy) {
  CallerRecord record = known();
  record.is_up = true;
  record.incarnation = Incarnation{3};
  record.directory = DirectoryId{55};
  record.life = 8;
  Greeting hello = greeting(1, 2);
  hello.from.life = 9;
  hello.from.incarnation = Incarnation{1};
  EXPECT_EQ(judge_hello(hello, greeting(2, 1), record).code, RefusalCode::DuplicateNode);
  hello.from.directory = record.directory;
  EXPECT_EQ(judge_hello(hello, greeting(2, 1), record).code, RefusalCode::DuplicateNode);
  hello.from.incarnation = Incarnation{3};
  EXPECT_EQ(judge_hello(hello, greeting(2, 1), record).code, RefusalCode::DuplicateNode);
  hello.from.incarnation = Incarnation{4};
  EXPECT_TRUE(judge_hello(hello, greeting(2, 1), record).admitted()) << "a restart";
  hello.from.incarnation = Incarnation{3};
  hello.from.life = 8;
  hello.epoch = 7;
  EXPECT_TRUE(judge_hello(hello, greeting(2, 1), record).admitted()) << "its own process";
}

TEST(Greeting, OfTwoCrossingCallsTheLowerNodesCounts) {
  CallerRecord record = known();
  record.is_calling_it = true;
  EXPECT_EQ(judge_hello(greeting(2, 1), greeting(1, 2), record).code, RefusalCode::CallCrossed);
  EXPECT_TRUE(judge_hello(greeting(1, 2), greeting(2, 1), record).admitted());
}

TEST(Greeting, ACallThatTheLiveChannelHasOvertakenDoesNotReplaceIt) {
  CallerRecord record = known();
  record.is_up = true;
  record.incarnation = Incarnation{3};
  record.directory = DirectoryId{100};
  record.epoch = 9;
  Greeting hello = greeting(1, 2);
  hello.epoch = 9;
  EXPECT_EQ(judge_hello(hello, greeting(2, 1), record).code, RefusalCode::CallCrossed);
  hello.epoch = 10;
  EXPECT_TRUE(judge_hello(hello, greeting(2, 1), record).admitted());
  hello.epoch = 1;
  hello.from.incarnation = Incarnation{4};
  EXPECT_TRUE(judge_hello(hello, greeting(2, 1), record).admitted()) << "a new life is a new call";
}

TEST(Greeting, AFirstCallThatIsRepeatedDoesNotReplaceALiveChannelOfAnyEpoch) {
  CallerRecord record = known();
  record.is_up = true;
  record.incarnation = Incarnation{3};
  record.directory = DirectoryId{100};
  Greeting hello = greeting(1, 2);
  hello.epoch = 1;
  for (const std::uint32_t live : {2u, kEpochMax / 2, kEpochMax / 2 + 2, kEpochMax}) {
    record.epoch = live;
    EXPECT_EQ(judge_hello(hello, greeting(2, 1), record).code, RefusalCode::CallCrossed) << live;
  }
}

TEST(Greeting, EpochsRiseOverReconnectsAndRestarts) {
  Greeting hello = greeting(1, 2);
  hello.epoch = 1;
  const std::uint32_t first = next_epoch(hello, Incarnation{1}, 0);
  hello.epoch = first + 1;
  const std::uint32_t second = next_epoch(hello, Incarnation{1}, first);
  EXPECT_GT(second, first);
  hello.epoch = 1;
  hello.from.incarnation = Incarnation{4};
  EXPECT_GT(next_epoch(hello, Incarnation{1}, second), second) << "the caller forgot";
  EXPECT_GT(next_epoch(hello, Incarnation{2}, 0), second) << "both forgot";
}

// A forged greeting that claims the last epoch used up the numbers of the pair until both
// restarted.
TEST(Greeting, EpochsGoRoundWhateverAGreetingClaims) {
  Greeting hello = greeting(1, 2);
  for (const std::uint32_t claimed : {kEpochMax, kEpochMax - 1, kEpochMax / 2, kEpochMax / 2 + 1}) {
    hello.epoch = claimed;
    std::uint32_t newest = next_epoch(hello, Incarnation{1}, 0);
    EXPECT_EQ(newest, claimed);
    for (int call = 0; call < 4; ++call) {
      hello.epoch = call % 2 == 0 ? epoch_after(newest) : 1;  // It remembers, or forgot.
      const std::uint32_t next = next_epoch(hello, Incarnation{1}, newest);
      EXPECT_TRUE(is_later_epoch(next, newest)) << newest << " " << next;
      EXPECT_LE(next, kEpochMax);
      EXPECT_GT(next, 1u) << "which says that a node remembers none";
      newest = next;
    }
  }
}

TEST(Greeting, AnEpochThatIsRoundIsNoPastOne) {
  CallerRecord record = known();
  record.epoch = kEpochMax;
  Greeting welcome = greeting(1, 2);
  welcome.epoch = 2;
  EXPECT_TRUE(judge_welcome(welcome, greeting(2, 1), record).admitted());
  record.is_up = true;
  record.incarnation = welcome.from.incarnation;
  record.directory = welcome.from.directory;
  EXPECT_TRUE(judge_hello(welcome, greeting(2, 1), record).admitted());
  welcome.epoch = kEpochMax - 1;
  EXPECT_FALSE(judge_welcome(welcome, greeting(2, 1), record).admitted());
  EXPECT_FALSE(judge_hello(welcome, greeting(2, 1), record).admitted());
}

TEST(Greeting, OfTwoThatRememberDifferentEpochsTheLaterOnesNextIsTaken) {
  Greeting hello = greeting(1, 2);
  hello.epoch = 4;  // Its own went round; the called side's did not yet.
  const std::uint32_t next = next_epoch(hello, Incarnation{1}, kEpochMax - 3);
  EXPECT_GE(next, 4u);
  EXPECT_LT(next, kEpochMax / 2);
  hello.epoch = kEpochMax - 3;
  EXPECT_GT(next_epoch(hello, Incarnation{1}, 4), 4u);
}

}  // namespace
}  // namespace gcoord::netcore
