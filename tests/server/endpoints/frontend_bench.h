// A front end over real loopback sockets, whose loop the test runs: without I/O threads, and with
// two for each backend that the kernel allows.
//
// For tests; one thread, and those that the front end starts.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/frame.h"
#include "server/client_io/open_backend.h"
#include "server/endpoints/frontend.h"
#include "tests/server/endpoints/raw_client.h"

#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

class FrontEndTest : public testing::TestWithParam<ClientIoOptions> {
 protected:
  void SetUp() override {
    const auto opened = open_backend(GetParam().backend);
    if (!opened.ok()) {
      GTEST_SKIP() << opened.status().message();
    }
    start({});
  }

  void start(FrontEndOptions options) {
    options.listen = {"127.0.0.1", 0};
    options.io = GetParam();
    options.io.tls = port_tls_;
    options.io.ingress = IngressRules{.limits = {4, 100, 60'000}, .entries = true};
    options.now_us = [this] { return now_us_; };
    options.welcome.cluster = ClusterId{77};
    options.welcome.node = NodeId{1};
    options.welcome.shard_count = 4;
    options.welcome.nodes = {{NodeId{1}, "127.0.0.1:7400"}};
    frontend_.emplace(context_, options, metrics_);
    frontend_->set_handler(
        [this](protocol::ConnectionId connection,
               const protocol::RequestSlot& request,
               auto payload,
               const PreparedRequest* prepared) {
          ++requests_;
          prepared_ += prepared != nullptr ? 1 : 0;
          if (answer_) {
            answer_(connection, request, payload);
          }
        },
        [] {});
    ASSERT_TRUE(frontend_->listen().ok());
    answer_ = [this](protocol::ConnectionId connection,
                     const protocol::RequestSlot& request,
                     auto payload) {
      frontend_->reply(connection, protocol::reply_to(request), payload);
    };
  }

  RawClient connect(const char* from = "127.0.0.1") {
    return RawClient(context_, frontend_->port(), from);
  }

  // Runs the front end's loop until the condition holds; false after ten seconds. Its clock stands
  // within a pass, and so long passes between two that nothing was lately.
  bool pump_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      now_us_ += 2 * InputQueue::kLatelyUs;
      poll();
      frontend_->serve_input();
      frontend_->flush();
    }
    return true;
  }

  // What sockets have to say comes to the front end; nothing is served.
  void poll() {
    context_.restart();
    frontend_->sockets().settle();
    frontend_->arm();
    context_.poll();
  }

  bool closed(RawClient& client) {
    return pump_until([&] { return !client.receive(); });
  }

  static std::vector<std::byte> frame_of(protocol::FrameBuilder& builder) {
    std::vector<std::byte> bytes;
    builder.finish(bytes);
    return bytes;
  }

  static std::vector<std::byte> hello_frame(protocol::FrameBuilder& builder,
                                            protocol::Hello hello = {}) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::Hello;
    slot.request_id = 1;
    builder.add(slot, protocol::encode(hello));
    return frame_of(builder);
  }

  bool welcome(RawClient& client, protocol::FrameBuilder& builder) {
    client.send(hello_frame(builder));
    return pump_until([&] { return client.receive() && !client.replies.empty(); });
  }

  std::uint64_t closed_count(const std::string& reason) {
    return metrics_.counter({"gcoord_server_connections_closed_total", "", "reason", reason})
        .value();
  }

  const PortTls* port_tls_ = nullptr;
  asio::io_context context_;
  MetricsRegistry metrics_;
  std::optional<FrontEnd> frontend_;
  std::function<void(
      protocol::ConnectionId, const protocol::RequestSlot&, std::span<const std::byte>)>
      answer_;
  std::size_t requests_ = 0;
  std::size_t prepared_ = 0;          // Of them, those of which an I/O thread has made something.
  std::uint64_t now_us_ = 1'000'000;  // Of the budgets.
};

// Names a test's parameter.
inline std::string io_name(const testing::TestParamInfo<ClientIoOptions>& param) {
  return param.param.thread_count == 0                   ? "Loop"
         : param.param.backend == IoBackendWish::IoUring ? "IoUring"
                                                         : "Epoll";
}

inline auto every_io() {
  return testing::Values(ClientIoOptions{},
                         ClientIoOptions{.thread_count = 2, .backend = IoBackendWish::Epoll},
                         ClientIoOptions{.thread_count = 2, .backend = IoBackendWish::IoUring});
}

inline protocol::RequestSlot request(std::uint64_t id) {
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::LockCheck;
  slot.request_id = id;
  return slot;
}

}  // namespace gcoord::server
