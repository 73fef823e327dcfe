// io_uring alone: how many requests it makes. Skipped where the kernel allows no io_uring.
#include "server/client_io/uring_backend.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

namespace gcoord::server {
namespace {

struct Received final : IoBackend::Sink {
  void on_received(IoSocket&, const IoBackend::Received& received) override {
    ++sockets;
    byte_count += received.bytes.size();
  }

  void on_sent(IoSocket&, std::size_t) override {}

  void on_blocked(IoSocket&) override {}

  void on_gone(IoSocket&) override { ++gone; }

  std::size_t sockets = 0;
  std::size_t byte_count = 0;
  std::size_t gone = 0;
};

// With 64 buffers each round served 64 of them and asked for all others again.
TEST(UringBackend, ManySocketsThatAreReadyAtOnceTakeOneRequestEach) {
  auto opened = UringBackend::open();
  if (!opened.ok()) {
    GTEST_SKIP() << opened.status().message();
  }
  auto& backend = static_cast<UringBackend&>(*opened.value());
  constexpr std::size_t kSockets = 200;
  std::vector<std::unique_ptr<IoSocket>> sockets;
  std::vector<int> clients;
  for (std::size_t k = 0; k < kSockets; ++k) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    sockets.push_back(std::make_unique<IoSocket>(ends[0]));
    clients.push_back(ends[1]);
    ASSERT_TRUE(backend.add(*sockets.back()));
    ASSERT_EQ(::send(ends[1], "bytes", 5, 0), 5);
    backend.receive(*sockets.back());
  }
  Received received;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (received.sockets < kSockets && std::chrono::steady_clock::now() < deadline) {
    backend.advance(received, 1);
  }
  EXPECT_EQ(received.byte_count, 5 * kSockets);
  EXPECT_EQ(received.gone, 0u);
  EXPECT_EQ(backend.request_count(), kSockets);
  for (auto& socket : sockets) {
    backend.remove(std::move(socket));
  }
  for (const int client : clients) {
    ::close(client);
  }
}

}  // namespace
}  // namespace gcoord::server
