#include "netcore/proof/handshake.h"

#include "common/crc32c.h"
#include "netcore/memory/aligned_bytes.h"
#include "tests/netcore/proof/secrets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

// A frame as a transport delivers it.
class Arrived {
 public:
  explicit Arrived(std::span<const std::byte> bytes) : copy_(bytes.size()), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), copy_.data());
    reason_ = decode_frame(this->bytes(), frame_);
  }

  std::span<const std::byte> bytes() const { return {copy_.data(), size_}; }

  const FrameView& frame() const { return frame_; }

  DropReason reason() const { return reason_; }

 private:
  AlignedBytes copy_;
  std::size_t size_;
  FrameView frame_;
  DropReason reason_;
};

Greeting greeting_of(std::uint32_t from, std::uint32_t to) {
  Greeting greeting;
  greeting.from.cluster = ClusterId{42};
  greeting.from.node = NodeId{from};
  greeting.from.incarnation = Incarnation{3};
  greeting.from.directory = DirectoryId{1000 * from};
  greeting.to = NodeId{to};
  greeting.epoch = 7;
  greeting.ring_slots = {8, 8, 8, 8};
  return greeting;
}

std::array<std::byte, kGreetingBytes> greeting_bytes(FrameKind kind, const Greeting& greeting) {
  std::array<std::byte, kGreetingBytes> bytes;
  encode_greeting(kind, greeting, bytes);
  return bytes;
}

class HandshakeTest : public testing::Test {
 protected:
  // Up to where the caller knows the challenge; node 1 calls node 2.
  DropReason exchange_challenges() {
    const Arrived opening{caller_.opening()};
    Challenge said;
    EXPECT_EQ(decode_challenge(opening.frame(), said), DropReason::None);
    callee_.emplace(
        keys_, ProofEnds{ClusterId{42}, NodeId{2}, NodeId{1}}, said, opening.bytes(), nonce_of(2));
    const Arrived challenge{callee_->challenge()};
    return caller_.on_challenge(challenge.frame(), challenge.bytes());
  }

  std::span<const std::byte> prove_hello() {
    const auto hello = greeting_bytes(FrameKind::Hello, greeting_of(1, 2));
    return std::span{hello_}.first(caller_.prove(hello, hello_));
  }

  std::span<const std::byte> prove_welcome() {
    const auto welcome = greeting_bytes(FrameKind::Welcome, greeting_of(2, 1));
    return std::span{answer_}.first(callee_->prove(welcome, answer_));
  }

  const ProofKeys keys_ = keys_of(secret_of(1));
  CallerProof caller_{keys_, {ClusterId{42}, NodeId{1}, NodeId{2}}, nonce_of(1)};
  std::optional<CalleeProof> callee_;
  ProvenFrame inner_;
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> hello_{};
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> answer_{};
};

TEST_F(HandshakeTest, CarriesBothGreetingsAsTheyAreWithoutProofs) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  ASSERT_EQ(callee_->on_hello(Arrived{prove_hello()}.frame(), inner_), DropReason::None);
  EXPECT_TRUE(
      std::ranges::equal(inner_.inner(), greeting_bytes(FrameKind::Hello, greeting_of(1, 2))));
  ASSERT_EQ(caller_.on_answer(Arrived{prove_welcome()}.frame(), inner_), DropReason::None);
  EXPECT_TRUE(
      std::ranges::equal(inner_.inner(), greeting_bytes(FrameKind::Welcome, greeting_of(2, 1))));
}

TEST_F(HandshakeTest, CarriesARefusalWithAllOfItsText) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  ASSERT_EQ(callee_->on_hello(Arrived{prove_hello()}.frame(), inner_), DropReason::None);
  std::array<std::byte, kStrangerBytesMax> refusal;
  const std::size_t length = encode_refusal(
      greeting_of(2, 1),
      {.code = RefusalCode::NotAdmitted, .text = std::string(kRefusalTextBytesMax, 'x')},
      refusal);
  const std::size_t proven = callee_->prove(std::span{refusal}.first(length), answer_);
  ASSERT_LE(proven, kStrangerBytesMax);
  ASSERT_EQ(caller_.on_answer(Arrived{std::span{answer_}.first(proven)}.frame(), inner_),
            DropReason::None);
  EXPECT_TRUE(std::ranges::equal(inner_.inner(), std::span{refusal}.first(length)));
}

TEST_F(HandshakeTest, TellsNothingOfTheDirectoryBeforeTheChallengeIsMet) {
  const auto opening = caller_.opening();
  const std::uint64_t directory = 1000;
  const auto bytes = std::as_bytes(std::span{&directory, 1});
  EXPECT_TRUE(std::ranges::search(opening, bytes).empty());
  EXPECT_EQ(opening.size(), kChallengeBytes);
}

TEST_F(HandshakeTest, RefusesAChangeOfAnyByte) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  const Arrived hello{prove_hello()};
  // Up to the padding of the frame, which nobody reads.
  constexpr std::size_t kEnd = kFrameHeaderBytes + kSlotBytes + 8 + kGreetingBytes;
  for (std::size_t at = kFrameHeaderBytes; at < kEnd; ++at) {
    std::vector<std::byte> changed(hello.bytes().begin(), hello.bytes().end());
    changed[at] ^= std::byte{1};
    FrameHeader header;  // Checksums are no secret.
    std::memcpy(&header, changed.data(), sizeof(header));
    header.body_crc32c = crc32c(std::span{changed}.subspan(kFrameHeaderBytes));
    header.header_crc32c = crc32c({reinterpret_cast<const std::byte*>(&header), 60});
    std::memcpy(changed.data(), &header, sizeof(header));
    const Arrived arrived{changed};
    if (arrived.reason() == DropReason::None) {
      CalleeProof callee = *std::exchange(callee_, std::nullopt);
      EXPECT_NE(callee.on_hello(arrived.frame(), inner_), DropReason::None) << at;
      EXPECT_FALSE(callee.is_proven()) << at;
      callee_ = std::move(callee);
    }
  }
  EXPECT_EQ(callee_->on_hello(hello.frame(), inner_), DropReason::None);
}

TEST_F(HandshakeTest, RefusesItsOwnWordsSentBack) {
  const Arrived opening{caller_.opening()};
  EXPECT_EQ(caller_.on_challenge(opening.frame(), opening.bytes()), DropReason::BadProof);
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  const Arrived hello{prove_hello()};
  EXPECT_EQ(caller_.on_answer(hello.frame(), inner_), DropReason::BadProof);
}

TEST_F(HandshakeTest, RefusesAProofOfAnotherHandshake) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  const Arrived hello{prove_hello()};
  ASSERT_EQ(callee_->on_hello(hello.frame(), inner_), DropReason::None);
  const Arrived welcome{prove_welcome()};
  // The same opening again, but the called side has drawn another nonce.
  const Arrived opening{caller_.opening()};
  Challenge said;
  ASSERT_EQ(decode_challenge(opening.frame(), said), DropReason::None);
  CalleeProof later{
      keys_, {ClusterId{42}, NodeId{2}, NodeId{1}}, said, opening.bytes(), nonce_of(3)};
  EXPECT_EQ(later.on_hello(hello.frame(), inner_), DropReason::BadProof);
  EXPECT_FALSE(later.is_proven());
  // And the caller another one.
  CallerProof another{keys_, {ClusterId{42}, NodeId{1}, NodeId{2}}, nonce_of(4)};
  const Arrived challenge{callee_->challenge()};
  ASSERT_EQ(another.on_challenge(challenge.frame(), challenge.bytes()), DropReason::None);
  const auto bytes = greeting_bytes(FrameKind::Hello, greeting_of(1, 2));
  another.prove(bytes, hello_);
  EXPECT_EQ(another.on_answer(welcome.frame(), inner_), DropReason::BadProof);
}

TEST_F(HandshakeTest, RefusesAHelloOfAnotherNodeThanTheOneThatCalled) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  const auto hello = greeting_bytes(FrameKind::Hello, greeting_of(3, 2));
  const std::size_t length = caller_.prove(hello, hello_);
  EXPECT_EQ(callee_->on_hello(Arrived{std::span{hello_}.first(length)}.frame(), inner_),
            DropReason::BadProof);
}

TEST_F(HandshakeTest, TakesOneHelloOnly) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  const Arrived hello{prove_hello()};
  ASSERT_EQ(callee_->on_hello(hello.frame(), inner_), DropReason::None);
  EXPECT_EQ(callee_->on_hello(hello.frame(), inner_), DropReason::UnexpectedKind);
}

TEST_F(HandshakeTest, EndsWithoutACommonSecret) {
  const ProofKeys others = keys_of(secret_of(2));
  const Arrived opening{caller_.opening()};
  Challenge said;
  ASSERT_EQ(decode_challenge(opening.frame(), said), DropReason::None);
  CalleeProof callee{
      others, {ClusterId{42}, NodeId{2}, NodeId{1}}, said, opening.bytes(), nonce_of(2)};
  EXPECT_FALSE(callee.can_prove());
  const Arrived challenge{callee.challenge()};
  EXPECT_EQ(caller_.on_challenge(challenge.frame(), challenge.bytes()), DropReason::OtherSecret);
}

// A key id is no secret: whoever names the right one still needs the key.
TEST_F(HandshakeTest, RefusesWhoKnowsTheIdOfTheKeyOnly) {
  const Arrived opening{caller_.opening()};
  Challenge said;
  ASSERT_EQ(decode_challenge(opening.frame(), said), DropReason::None);
  std::array<std::byte, kChallengeBytes> bytes;
  encode_challenge({.cluster = ClusterId{42},
                    .from = NodeId{2},
                    .to = NodeId{1},
                    .keys = {said.keys[0], 0},
                    .nonce = nonce_of(9)},
                   bytes);
  const Arrived challenge{bytes};
  ASSERT_EQ(caller_.on_challenge(challenge.frame(), challenge.bytes()), DropReason::None);
  prove_hello();
  const auto welcome = greeting_bytes(FrameKind::Welcome, greeting_of(2, 1));
  const std::size_t length = encode_proven(welcome, ProofMac{}, answer_);
  EXPECT_EQ(caller_.on_answer(Arrived{std::span{answer_}.first(length)}.frame(), inner_),
            DropReason::BadProof);
}

TEST(ProofKeys, MeetByTheNewestThatBothHave) {
  const auto first = secret_of(1);
  const auto second = first.rotated();
  const auto third = second.rotated();
  const ProofKeys a = keys_of(first);
  const ProofKeys b = keys_of(second);
  const ProofKeys c = keys_of(third);
  EXPECT_EQ(a.common_with(b.ids()), a.ids()[0]);
  EXPECT_EQ(b.common_with(a.ids()), a.ids()[0]);
  EXPECT_EQ(b.common_with(c.ids()), b.ids()[0]);
  EXPECT_EQ(b.common_with(b.ids()), b.ids()[0]);
  EXPECT_EQ(a.common_with(c.ids()), 0u);
  EXPECT_EQ(ProofKeys{}.common_with({}), 0u);
  EXPECT_TRUE(ProofKeys{}.empty());
  EXPECT_EQ(b.clone().ids(), b.ids());
  EXPECT_EQ(*b.find(b.ids()[1]), *a.find(a.ids()[0]));
}

// Nodes of later releases must prove to this one: bytes that never change.
TEST_F(HandshakeTest, IsAsItWasRecorded) {
  ASSERT_EQ(exchange_challenges(), DropReason::None);
  const auto hello = prove_hello();
  ASSERT_EQ(callee_->on_hello(Arrived{hello}.frame(), inner_), DropReason::None);
  const auto welcome = prove_welcome();
  EXPECT_EQ(crc32c(caller_.opening()), 3814064703u);
  EXPECT_EQ(crc32c(callee_->challenge()), 3955824210u);
  EXPECT_EQ(crc32c(hello), 1753429382u);
  EXPECT_EQ(crc32c(welcome), 4189908678u);
}

}  // namespace
}  // namespace gcoord::netcore
