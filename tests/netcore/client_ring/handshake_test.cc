// How rings are asked for and passed, also by those who lie about them.
#include "netcore/client_ring/handshake.h"

#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

std::optional<RingOffer> answer(const RingRequest& request) {
  std::array<std::byte, sizeof(request)> bytes;
  std::memcpy(bytes.data(), &request, sizeof(request));
  return answer_to(bytes);
}

class RingHandshake : public testing::Test {
 protected:
  RingHandshake() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }

  ~RingHandshake() override {
    for (const int end : ends_) {
      ::close(end);
    }
  }

  int node() const { return ends_[0]; }

  int client() const { return ends_[1]; }

  // As send_offer(), with so many descriptors.
  void offer_with(const std::vector<int>& descriptors) const {
    RingOffer offer;
    iovec part{.iov_base = &offer, .iov_len = sizeof(offer)};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(4 * sizeof(int))> control{};
    const std::size_t byte_count = descriptors.size() * sizeof(int);
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(byte_count);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(byte_count);
    std::memcpy(CMSG_DATA(header), descriptors.data(), byte_count);
    ASSERT_EQ(::sendmsg(node(), &message, 0), static_cast<ssize_t>(sizeof(offer)));
  }

  void close_node() { ::close(std::exchange(ends_[0], -1)); }

  std::uint32_t refusal() const { return receive_offer(client()).status().detail(); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(RingHandshake, AClientMapsWhatTheNodeMade) {
  ASSERT_TRUE(send_request(client(), {.wanted = {8192, 4096}}));
  std::array<std::byte, sizeof(RingRequest)> bytes;
  ASSERT_EQ(::recv(node(), bytes.data(), bytes.size(), 0), ssize_t{sizeof(RingRequest)});
  const auto offer = answer_to(bytes);
  ASSERT_TRUE(offer.has_value());
  EXPECT_EQ(offer->shape, (ClientRingShape{8192, 4096}));
  auto made = RingMapping::make(offer->shape);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ASSERT_TRUE(send_offer(node(), *offer, made.value().descriptor()));
  made.value().close_descriptor();
  auto received = receive_offer(client());
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  auto adopted = RingMapping::adopt(received.value().memory->get(), received.value().offer.shape);
  ASSERT_TRUE(adopted.ok()) << adopted.status().to_string();
  RingWriter writer{adopted.value().request()};
  RingReader reader{made.value().request()};
  const std::string text = "over there";
  writer.write(reinterpret_cast<const std::byte*>(text.data()), text.size());
  writer.publish();
  std::array<std::byte, 8192> taken;
  ASSERT_EQ(reader.take(taken.data(), taken.size()).bytes, text.size());
  EXPECT_EQ(std::memcmp(taken.data(), text.data(), text.size()), 0);
}

TEST_F(RingHandshake, TheMemoryIsThereInFullAndKeepsItsSize) {
  auto made = RingMapping::make({4096, 4096});
  ASSERT_TRUE(made.ok());
  const int descriptor = made.value().descriptor();
  EXPECT_EQ(::ftruncate(descriptor, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(descriptor, 1 << 20), -1);
  EXPECT_EQ(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST_F(RingHandshake, AnswersNobodyWhoIsNoClient) {
  EXPECT_FALSE(answer({.magic = 0x5052'4347}).has_value());
  EXPECT_FALSE(answer({.layout_min = 2, .layout_max = 1}).has_value());
}

TEST_F(RingHandshake, ASizeThatCannotBeBecomesTheUsualOne) {
  const auto offer = answer({.wanted = {1u << 31, 7}});
  ASSERT_TRUE(offer.has_value());
  EXPECT_EQ(offer->shape, ClientRingShape{});
  EXPECT_EQ(offer->error, 0u);
}

TEST_F(RingHandshake, ALayoutThatTheNodeDoesNotHaveIsRefusedByItsNumber) {
  const auto offer = answer({.layout_min = 7, .layout_max = 9});
  ASSERT_TRUE(offer.has_value());
  EXPECT_EQ(offer->error, kShmLayoutUnknown);
  ASSERT_TRUE(send_offer(node(), *offer, -1));
  const auto refused = receive_offer(client()).status();
  EXPECT_EQ(refused.detail(), kShmLayoutUnknown);
  EXPECT_NE(refused.message().find("the node's is 1"), std::string::npos);
}

TEST_F(RingHandshake, ARefusalForWantOfMemoryHasItsNumber) {
  ASSERT_TRUE(send_offer(node(), {.error = kShmExhausted}, -1));
  EXPECT_EQ(refusal(), kShmExhausted);
}

TEST_F(RingHandshake, WaitsForAnOfferAndTakesNothingElseForOne) {
  const auto none = receive_offer(client());
  EXPECT_EQ(none.status().code(), StatusCode::Unavailable);
  EXPECT_EQ(none.status().detail(), 0u);
  ASSERT_TRUE(send_offer(node(), {}, -1));  // Without its memory.
  EXPECT_EQ(refusal(), kShmNotSpoken);
  ASSERT_EQ(::send(node(), "GCRP", 4, 0), 4);
  EXPECT_EQ(refusal(), kShmNotSpoken);
  close_node();
  EXPECT_EQ(refusal(), kShmNotSpoken);
}

// The end of a pipe says whether anybody has the other one still.
TEST_F(RingHandshake, KeepsNoDescriptorOfAnOfferThatHasSeveral) {
  for (const std::size_t count : {2u, 3u, 4u}) {
    std::array<int, 2> pipe{-1, -1};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const OwnedDescriptor reads{pipe[0]};
    offer_with(std::vector<int>(count, pipe[1]));
    ::close(pipe[1]);
    EXPECT_EQ(refusal(), kShmNotSpoken) << count;
    char byte = 0;
    EXPECT_EQ(::read(reads.get(), &byte, 1), 0) << count;
  }
}

TEST_F(RingHandshake, ARefusalForWantOfAPlaceHasItsNumber) {
  ASSERT_TRUE(send_offer(node(), {.error = kShmNoPlace}, -1));
  EXPECT_EQ(refusal(), kShmNoPlace);
}

std::size_t allocated_bytes(int descriptor) {
  struct stat found {};

  EXPECT_EQ(::fstat(descriptor, &found), 0);
  return static_cast<std::size_t>(found.st_blocks) * 512;
}

TEST_F(RingHandshake, PagesGoBackWhoeverHasThemMapped) {
  const ClientRingShape shape{4096, 8192};
  auto made = RingMapping::make(shape);
  ASSERT_TRUE(made.ok());
  const int descriptor = made.value().descriptor();
  auto adopted = RingMapping::adopt(descriptor, shape);
  ASSERT_TRUE(adopted.ok());
  std::memset(adopted.value().request().bytes, 's', 4096);
  std::memset(adopted.value().reply().bytes, 'r', 8192);
  EXPECT_EQ(allocated_bytes(descriptor), mapped_bytes(shape));
  made.value().discard_request();
  EXPECT_EQ(allocated_bytes(descriptor), mapped_bytes(shape) - 4096);
  EXPECT_EQ(adopted.value().reply().bytes[8191], std::byte{'r'});
  made.value().discard();
  EXPECT_EQ(allocated_bytes(descriptor), 0u);
  EXPECT_EQ(adopted.value().request().bytes[0], std::byte{0});
}

TEST_F(RingHandshake, MapsNothingThatCouldShrinkOrIsOfAnotherSize) {
  const OwnedDescriptor loose{::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(::ftruncate(loose.get(), static_cast<off_t>(mapped_bytes({4096, 4096}))), 0);
  EXPECT_EQ(RingMapping::adopt(loose.get(), {4096, 4096}).status().detail(), kShmNotSpoken);
  ASSERT_EQ(::fcntl(loose.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_TRUE(RingMapping::adopt(loose.get(), {4096, 4096}).ok());
  EXPECT_EQ(RingMapping::adopt(loose.get(), {4096, 8192}).status().detail(), kShmNotSpoken);
  EXPECT_EQ(RingMapping::adopt(loose.get(), {5000, 4096}).status().detail(), kShmNotSpoken);
  EXPECT_EQ(RingMapping::adopt(node(), {4096, 4096}).status().detail(), kShmNotSpoken);
}

TEST_F(RingHandshake, BellsAreTakenTogetherAndNeverBlock) {
  EXPECT_EQ(take_bells(node()), Bells::None);
  for (int k = 0; k < 20'000; ++k) {
    ring_bell(client());  // Long before this many the socket takes no more.
  }
  while (take_bells(node()) != Bells::None) {
  }
  const std::string block(2 * kBellsMax + 1, '\0');
  ASSERT_EQ(::send(client(), block.data(), block.size(), 0), static_cast<ssize_t>(block.size()));
  EXPECT_EQ(take_bells(node()), Bells::TooMany);
  EXPECT_EQ(take_bells(node()), Bells::TooMany);
  EXPECT_EQ(take_bells(node()), Bells::Rung);
  ring_bell(client());
  EXPECT_EQ(take_bells(node()), Bells::Rung);
  EXPECT_EQ(take_bells(node()), Bells::None);
  close_node();
  EXPECT_EQ(take_bells(client()), Bells::Gone);
  ring_bell(client());
}

}  // namespace
}  // namespace gcoord::netcore
