// A client of shared memory that does to its rings what it likes.
#pragma once

#include "common/host/unix_socket.h"
#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "netcore/client_ring/mapping.h"
#include "protocol/frame.h"
#include "protocol/hello.h"
#include "protocol/lock_messages.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

class RawRings {
 public:
  // Connects, and gets rings unless `asks` is false.
  explicit RawRings(const std::string& path, bool asks = true)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = UnixAddress::of(path);
    EXPECT_TRUE(address.ok());
    EXPECT_EQ(::connect(socket_, address.value().get(), address.value().length()), 0);
    if (!asks) {
      return;
    }
    EXPECT_TRUE(netcore::send_request(socket_, {}));
    EXPECT_TRUE(wait_readable());
    auto offer = netcore::receive_offer(socket_);
    EXPECT_TRUE(offer.ok()) << offer.status().to_string();
    auto memory =
        netcore::RingMapping::adopt(offer.value().memory->get(), offer.value().offer.shape);
    EXPECT_TRUE(memory.ok()) << memory.status().to_string();
    memory_ = std::move(memory).value();
    writer_ = netcore::RingWriter{memory_.request()};
  }

  ~RawRings() { leave(); }

  RawRings(const RawRings&) = delete;
  RawRings& operator=(const RawRings&) = delete;

  int socket() const { return socket_; }

  netcore::ClientRingView requests() const { return memory_.request(); }

  netcore::ClientRingView replies() const { return memory_.reply(); }

  // Of these requests without payload; a Hello first.
  static std::vector<std::byte> hello() {
    protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::Hello;
    builder.add(slot, protocol::encode(protocol::Hello{.client = "raw"}));
    std::vector<std::byte> bytes;
    builder.finish(bytes);
    return bytes;
  }

  std::uint32_t write(const std::vector<std::byte>& bytes) {
    const std::uint32_t count = writer_.write(bytes.data(), bytes.size());
    writer_.publish();
    ring();
    return count;
  }

  void ring() const { netcore::ring_bell(socket_); }

  // Until the node ends the connection. False: it does not.
  bool is_ended() const {
    while (wait_readable()) {
      if (netcore::take_bells(socket_) == netcore::Bells::Gone) {
        return true;
      }
    }
    return false;
  }

  // Until the node rings for something.
  bool wait_readable() const {
    pollfd waits{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&waits, 1, 60'000) == 1;
  }

  void leave() {
    if (const int open = std::exchange(socket_, -1); open >= 0) {
      ::close(open);
    }
  }

 private:
  int socket_;
  netcore::RingMapping memory_;
  netcore::RingWriter writer_;
};

}  // namespace gcoord::cli
