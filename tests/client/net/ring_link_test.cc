// Rings of a client, with a node that does not keep to its part.
#include "client/net/ring_link.h"

#include "client/net/connection.h"
#include "common/host/unix_socket.h"
#include "protocol/request.h"
#include "tests/scratch_folder.h"

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

constexpr netcore::ClientRingShape kShape{4096, 4096};

std::vector<std::byte> reply_frame(protocol::FrameBuilder& builder) {
  std::vector<std::byte> bytes;
  builder.add(protocol::ReplySlot{});
  builder.finish(bytes);
  return bytes;
}

// A connection by shared memory, and the node's side of it as the test wants it.
class RingLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto address = UnixAddress::of(path_);
    ASSERT_TRUE(address.ok());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(listener_, address.value().get(), address.value().length()), 0);
    ASSERT_EQ(::listen(listener_, 1), 0);
    connection_->connect("shm:" + path_,
                         {.on_connected = [this] { connected_ = true; },
                          .on_reply = [this](const protocol::ReplySlot&, auto) { ++replies_; },
                          .on_batch_end = [] {},
                          .on_closed = [this](const std::string& reason) { closed_ = reason; }});
    node_ = ::accept(listener_, nullptr, nullptr);
    ASSERT_GE(node_, 0);
    auto made = netcore::RingMapping::make(kShape);
    ASSERT_TRUE(made.ok());
    memory_ = std::move(made).value();
    ASSERT_TRUE(netcore::send_offer(node_, {.shape = kShape}, memory_.descriptor()));
    writer_ = netcore::RingWriter{memory_.reply()};
    ASSERT_TRUE(run_until([this] { return connected_; }));
  }

  void TearDown() override {
    connection_->abandon();
    context_.restart();
    context_.run();
    for (const int open : {listener_, node_}) {
      ::close(open);
    }
  }

  // What the client's thread does, until this holds, or it has been quiet for a while.
  bool run_until(const std::function<bool()>& holds) {
    while (!holds()) {
      context_.restart();
      if (context_.run_one_for(std::chrono::seconds{10}) == 0) {
        return false;
      }
    }
    return true;
  }

  // Until the client has taken every bell and sleeps.
  void run_until_quiet() {
    do {
      context_.restart();
    } while (context_.poll_one() > 0);
  }

  void ring_for(std::size_t reply_count) {
    for (std::size_t k = 0; k < reply_count; ++k) {
      const std::vector<std::byte> bytes = reply_frame(builder_);
      ASSERT_EQ(writer_.write(bytes.data(), bytes.size()), bytes.size());
    }
    writer_.publish();
    netcore::ring_bell(node_);
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("s");
  const std::shared_ptr<Clock> clock_ = boot_clock();
  asio::io_context context_{1};
  std::shared_ptr<Connection> connection_ = std::make_shared<Connection>(context_, *clock_);
  int listener_ = -1;
  int node_ = -1;
  netcore::RingMapping memory_;
  netcore::RingWriter writer_;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Replies};
  bool connected_ = false;
  std::size_t replies_ = 0;
  std::string closed_;
};

TEST_F(RingLinkTest, ANodeThatRingsForNothingIsLeft) {
  for (int k = 0; k < 63; ++k) {
    netcore::ring_bell(node_);
    run_until_quiet();
  }
  EXPECT_EQ(closed_, "");
  netcore::ring_bell(node_);
  EXPECT_TRUE(run_until([this] { return !closed_.empty(); }));
  EXPECT_EQ(closed_, "the node rings without end for nothing in shared memory");
}

TEST_F(RingLinkTest, ANodeMayRingAsOftenAsItHasSomethingToSay) {
  for (std::size_t k = 0; k < 500; ++k) {
    ring_for(1);
    netcore::ring_bell(node_);  // One that comes late, as by a race.
    ASSERT_TRUE(run_until([&] { return replies_ == k + 1; }));
    run_until_quiet();
  }
  EXPECT_EQ(closed_, "");
}

// In blocks, as fast as the client takes them. What else its thread has to do goes on meanwhile.
TEST_F(RingLinkTest, ANodeThatRingsWithoutEndIsLeftAndHoldsNothingUp) {
  std::size_t turns = 0;
  std::function<void()> turn = [&] {
    ++turns;
    const std::vector<std::byte> block(std::size_t{64} << 10);
    while (::send(node_, block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    if (closed_.empty()) {
      asio::post(context_, turn);
    }
  };
  turn();
  EXPECT_TRUE(run_until([this] { return !closed_.empty(); }));
  EXPECT_GE(turns, 8u) << "one between any two looks at the bells";
  EXPECT_EQ(closed_, "the node rings without end for nothing in shared memory");
  run_until_quiet();  // The turn that is posted still.
}

// Beside replies it is as bad.
TEST_F(RingLinkTest, ANodeThatRingsWithoutEndAndAnswersIsLeftToo) {
  const std::vector<std::byte> bells(netcore::kBellsMax);
  for (std::size_t k = 0; k < 8 && closed_.empty(); ++k) {
    while (::send(node_, bells.data(), bells.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    ring_for(1);
    ASSERT_TRUE(run_until([&] { return replies_ == k + 1 || !closed_.empty(); }));
  }
  EXPECT_TRUE(run_until([this] { return !closed_.empty(); }));
}

}  // namespace
}  // namespace gcoord::client
