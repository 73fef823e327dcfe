// A socket with rings as a connection uses it, with a client that does to its memory what it likes.
#include "server/client_io/ring_socket.h"

#include "common/host/metrics.h"
#include "netcore/client_ring/byte_ring.h"
#include "protocol/hello.h"

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

std::vector<std::byte> frame_with(std::size_t payload_bytes, std::uint64_t count) {
  protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
  std::vector<std::byte> bytes;
  for (std::uint64_t k = 0; k < count; ++k) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LockGet;
    slot.request_id = k + 1;
    builder.add(slot, std::vector<std::byte>(payload_bytes, std::byte{'a'}));
  }
  builder.finish(bytes);
  return bytes;
}

// What a connection is to its socket. It takes frames as they come.
class Owner final : public SocketOwner, public std::enable_shared_from_this<Owner> {
 public:
  std::shared_ptr<void> keep_alive() override { return shared_from_this(); }

  void on_readable(const Readable& readable) override {
    if (readable.gone) {
      return close();
    }
    ClientSocket::Read read{.more = true};
    while (read.more && !read.gone) {
      read = socket->read();
      take_frames();
    }
    read.gone || socket->bad() != protocol::BadFrame::None ? close() : socket->await_input();
  }

  void on_writable(Writable writable) override {
    if (writable.gone) {
      return close();
    }
    rooms += writable.moved ? 1 : 0;
    flush();
  }

  void on_tls() override {}

  void flush() {
    if (socket->open() && !socket->write(out, false)) {
      close();
    }
  }

  std::size_t memory_bytes() const {
    return socket->input().memory_bytes + socket->output_memory_bytes();
  }

  void close() {
    gone = true;
    socket->close();
  }

  void take_frames() {
    protocol::FrameView frame;
    while (socket->next(frame) == protocol::DecodeStep::Frame) {
      ++frames;
      requests += frame.slot_count();
      for (std::size_t k = 0; k < frame.slot_count(); ++k) {
        payload_bytes += frame.payload(frame.request(k)).size();
      }
    }
  }

  std::unique_ptr<RingSocket> socket;
  ReplyOutbox out;
  std::size_t frames = 0;
  std::size_t requests = 0;
  std::size_t payload_bytes = 0;
  std::size_t rooms = 0;
  bool gone = false;
};

class RingSocketTest : public testing::Test {
 protected:
  RingSocketTest() { connect(RingSocket::Size::Full); }

  void connect(RingSocket::Size size) {
    if (owner_->socket != nullptr) {
      owner_->close();
    }
    leave();
    owner_ = std::make_shared<Owner>();
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    client_ = ends[1];
    asio::local::stream_protocol::socket socket{context_};
    socket.assign(asio::local::stream_protocol{}, ends[0]);
    owner_->socket =
        std::make_unique<RingSocket>(DirectSocket::Socket{std::move(socket)}, shared_, size);
    owner_->socket->bind(*owner_);
    if (size != RingSocket::Size::None) {
      owner_->socket->await_input();
    }
  }

  ~RingSocketTest() override {
    if (owner_->socket->open()) {
      owner_->close();
    }
    leave();
    context_.poll();
  }

  // A pass of the loop, until nothing happens any more.
  void run() {
    for (int pass = 0; pass < 100; ++pass) {
      context_.restart();
      context_.poll();
      shared_.polls.poll();
    }
  }

  void ask(const netcore::RingRequest& request = {.wanted = {4096, 4096}}) {
    ASSERT_TRUE(netcore::send_request(client_, request));
    run();
    auto offer = netcore::receive_offer(client_);
    ASSERT_TRUE(offer.ok()) << offer.status().to_string();
    auto memory =
        netcore::RingMapping::adopt(offer.value().memory->get(), offer.value().offer.shape);
    ASSERT_TRUE(memory.ok());
    file_ = std::move(offer.value().memory);
    memory_ = std::move(memory).value();
    writer_ = netcore::RingWriter{memory_.request()};
    reader_ = netcore::RingReader{memory_.reply()};
  }

  // All of it, as far as the node reads.
  std::size_t write(const std::vector<std::byte>& bytes) {
    std::size_t sent = 0;
    for (int idle = 0; sent < bytes.size() && idle < 3;) {
      const std::uint32_t count = writer_.write(bytes.data() + sent, bytes.size() - sent);
      if (writer_.publish()) {
        netcore::ring_bell(client_);
      }
      sent += count;
      idle = count == 0 ? idle + 1 : 0;
      run();
    }
    return sent;
  }

  void reply(std::size_t payload_bytes) {
    owner_->out.add(protocol::ReplySlot{}, std::vector<std::byte>(payload_bytes, std::byte{'r'}));
    owner_->out.finish_frame();
    owner_->flush();
  }

  std::vector<std::byte> read_replies() {
    std::vector<std::byte> room(netcore::kRingBytesMax);
    const netcore::RingTaken taken = reader_.take(room.data(), room.size());
    if (taken.wakes) {
      netcore::ring_bell(client_);
    }
    room.resize(taken.bytes);
    return room;
  }

  // Bells in blocks, until the socket takes no more.
  void ring_without_end() const {
    const std::vector<std::byte> block(std::size_t{64} << 10);
    while (::send(client_, block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }

  // Of the rings, whoever has them mapped.
  std::size_t allocated_bytes() const {
    struct stat found {};

    EXPECT_EQ(::fstat(file_->get(), &found), 0);
    return static_cast<std::size_t>(found.st_blocks) * 512;
  }

  void leave() {
    if (const int open = std::exchange(client_, -1); open >= 0) {
      ::close(open);
    }
  }

  MetricsRegistry metrics_;
  asio::io_context context_{1};
  RingSocket::Shared shared_{metrics_};
  std::shared_ptr<Owner> owner_ = std::make_shared<Owner>();
  int client_ = -1;
  std::unique_ptr<OwnedDescriptor> file_;
  netcore::RingMapping memory_;
  netcore::RingWriter writer_;
  netcore::RingReader reader_;
};

TEST_F(RingSocketTest, FramesLargerThanTheRingComeThroughInPieces) {
  ask();
  const std::vector<std::byte> bytes = frame_with(1000, 40);
  ASSERT_GT(bytes.size(), 10u * 4096);
  EXPECT_EQ(write(bytes), bytes.size());
  EXPECT_EQ(owner_->frames, 1u);
  EXPECT_EQ(owner_->payload_bytes, 40'000u);
  EXPECT_EQ(shared_.counters.read.value(), bytes.size());
  EXPECT_EQ(shared_.counters.clients.value(), 1);
}

TEST_F(RingSocketTest, RepliesThatDoNotFitFollowWhenTheClientHasRead) {
  ask();
  reply(10'000);
  EXPECT_TRUE(owner_->socket->blocked());
  std::size_t received = 0;
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(shared_.polls.arm() || !owner_->socket->blocked());
    received += read_replies().size();
    run();
  }
  EXPECT_EQ(received, owner_->out.bytes() + shared_.counters.written.value());
  EXPECT_GT(received, 10'000u);
  EXPECT_FALSE(owner_->socket->blocked());
  EXPECT_GT(owner_->rooms, 1u);
}

// Out of the ring, and nowhere else.
TEST_F(RingSocketTest, ARequestIsCopiedOnce) {
  IoTally tally;
  owner_->socket->set_tally(tally);
  ask();
  const std::vector<std::byte> bytes = frame_with(100, 20);
  ASSERT_EQ(write(bytes), bytes.size());
  ASSERT_EQ(owner_->requests, 20u);
  const auto copied = [&tally](IoCopy stage) {
    return tally.copied()[static_cast<std::size_t>(stage)];
  };
  EXPECT_EQ(copied(IoCopy::Receive), bytes.size());
  EXPECT_EQ(copied(IoCopy::Frame), 0u);
}

// The bell for little room is spent before there is enough: the next sleep has one of its own.
TEST_F(RingSocketTest, ABellThatCameTooEarlyIsFollowedByAnother) {
  ask();
  reply(10'000);
  ASSERT_TRUE(owner_->socket->blocked());
  ASSERT_TRUE(shared_.polls.arm());
  netcore::ring_bell(client_);
  run();
  ASSERT_TRUE(owner_->socket->blocked());
  ASSERT_TRUE(shared_.polls.arm());
  std::vector<std::byte> room(netcore::kRingBytesMax);
  EXPECT_TRUE(reader_.take(room.data(), room.size()).wakes);
}

TEST_F(RingSocketTest, AnIdleSocketCoolsDownAndItsClientRings) {
  ask();
  run();
  EXPECT_EQ(shared_.polls.hot_count(), 0u);
  const std::vector<std::byte> bytes = frame_with(1, 1);
  writer_.write(bytes.data(), bytes.size());
  EXPECT_TRUE(writer_.publish());
  run();
  EXPECT_EQ(owner_->frames, 0u);  // Nobody looks there.
  netcore::ring_bell(client_);
  run();
  EXPECT_EQ(owner_->frames, 1u);
}

TEST_F(RingSocketTest, WhatAClientWroteBeforeItDiedIsTaken) {
  ask();
  const std::vector<std::byte> bytes = frame_with(1, 3);
  writer_.write(bytes.data(), bytes.size());
  writer_.publish();
  leave();
  run();
  EXPECT_EQ(owner_->requests, 3u);
  EXPECT_TRUE(owner_->gone);
  EXPECT_EQ(shared_.counters.clients.value(), 0);
  EXPECT_EQ(shared_.counters.broken.value(), 0u);
}

TEST_F(RingSocketTest, WordsAndPiecesThatCannotBeEndIt) {
  ask();
  netcore::SystemOrder::publish(memory_.request().words->written, 8192);
  netcore::ring_bell(client_);
  run();
  EXPECT_TRUE(owner_->gone);
  EXPECT_EQ(shared_.counters.broken.value(), 1u);
  EXPECT_EQ(owner_->frames, 0u);
}

TEST_F(RingSocketTest, AClientThatSaysThatItReadWhatNobodyWroteIsEnded) {
  ask();
  reply(10'000);
  netcore::SystemOrder::publish(memory_.reply().words->read, 1 << 20);
  run();
  EXPECT_TRUE(owner_->gone);
  EXPECT_EQ(shared_.counters.broken.value(), 1u);
}

TEST_F(RingSocketTest, WhoDoesNotAskForRingsIsGone) {
  const std::vector<std::byte> bytes = frame_with(10, 1);
  ASSERT_EQ(::send(client_, bytes.data(), 20, MSG_NOSIGNAL), 20);
  run();
  EXPECT_FALSE(owner_->gone);  // It may be the first part of a request.
  ASSERT_EQ(::send(client_, bytes.data() + 20, 20, MSG_NOSIGNAL), 20);
  run();
  EXPECT_TRUE(owner_->gone);
  EXPECT_EQ(shared_.counters.foreign.value(), 1u);
}

TEST_F(RingSocketTest, RepliesBeforeTheRingsWaitForThem) {
  reply(100);
  EXPECT_TRUE(owner_->socket->blocked());
  ask();
  EXPECT_FALSE(owner_->socket->blocked());
  EXPECT_GT(read_replies().size(), 100u);
}

// Each pass looks once, at so many of them; else the context would never come to an end.
TEST_F(RingSocketTest, BellsWithoutEndAreTakenOncePerPass) {
  ask();
  ring_without_end();
  for (std::uint64_t pass = 1; pass <= 3; ++pass) {
    context_.restart();
    context_.poll();
    EXPECT_EQ(shared_.counters.loop_wakes.value(), pass);
    EXPECT_FALSE(shared_.polls.arm());  // The socket is awaited again first.
    shared_.polls.poll();
  }
  EXPECT_FALSE(owner_->gone);
}

TEST_F(RingSocketTest, AClientThatRingsWithoutEndIsEndedAndCounted) {
  ask();
  std::vector<std::byte> many(2 * netcore::kBellsMax);
  for (int k = 0; k < 9; ++k) {  // Too many, and a few, so never many times in a row.
    ASSERT_EQ(::send(client_, many.data(), many.size() - 1, 0),
              static_cast<ssize_t>(many.size() - 1));
    run();
  }
  EXPECT_FALSE(owner_->gone);
  ring_without_end();
  run();
  EXPECT_TRUE(owner_->gone);
  EXPECT_EQ(shared_.counters.loud.value(), 1u);
  EXPECT_EQ(shared_.counters.clients.value(), 0);
}

TEST_F(RingSocketTest, TheMemoryCountsFromTheFirstMoment) {
  EXPECT_EQ(owner_->memory_bytes(), 2u * netcore::kRingBytesMax);
  ask();
  EXPECT_EQ(owner_->memory_bytes(), 2u * 4096);
  connect(RingSocket::Size::Smallest);
  EXPECT_EQ(owner_->memory_bytes(), 2u * netcore::kRingBytesMin);
  ask({});
  EXPECT_EQ(owner_->memory_bytes(), 2u * netcore::kRingBytesMin);
}

// Nobody waits for one that has no place, whether or not it asks.
TEST_F(RingSocketTest, WhoGetsNoRingsIsAnsweredAtOnce) {
  connect(RingSocket::Size::None);
  EXPECT_EQ(owner_->memory_bytes(), 0u);
  reply(100);
  EXPECT_EQ(owner_->out.bytes(), 0u);
  EXPECT_FALSE(owner_->socket->blocked());
  EXPECT_EQ(netcore::receive_offer(client_).status().detail(), netcore::kShmNoPlace);
}

// Its owner waits only for the last replies to leave, and those wait for the rings.
TEST_F(RingSocketTest, AClientThatGoesBeforeItHasRingsIsGoneAtOnce) {
  reply(100);
  leave();
  run();
  EXPECT_TRUE(owner_->gone);
}

TEST_F(RingSocketTest, NoPageOutlivesAClientThatIsLostOrBroken) {
  ask();
  reply(100);
  EXPECT_EQ(allocated_bytes(), netcore::mapped_bytes({4096, 4096}));
  leave();
  run();
  ASSERT_TRUE(owner_->gone);
  EXPECT_EQ(allocated_bytes(), 0u);
  connect(RingSocket::Size::Full);
  ask();
  netcore::SystemOrder::publish(memory_.request().words->written, 8192);
  netcore::ring_bell(client_);
  run();
  ASSERT_TRUE(owner_->gone);
  EXPECT_EQ(allocated_bytes(), 0u);
}

TEST_F(RingSocketTest, LastRepliesCanBeReadUntilManyOthersHaveParted) {
  ask();
  reply(100);
  owner_->close();
  EXPECT_EQ(allocated_bytes(), netcore::mapped_bytes({4096, 4096}) - 4096);
  EXPECT_GT(read_replies().size(), 100u);
  for (std::size_t k = 0; k < PartingRings::kRingsMax; ++k) {
    auto made = netcore::RingMapping::make({4096, 4096});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    made.value().close_descriptor();
    EXPECT_GT(allocated_bytes(), 0u);
    shared_.parting.keep(std::move(made).value());
  }
  EXPECT_EQ(allocated_bytes(), 0u);
}

TEST_F(RingSocketTest, NothingOfARequestStaysInTheRing) {
  ask();
  const std::vector<std::byte> bytes = frame_with(500, 2);
  EXPECT_EQ(write(bytes), bytes.size());
  ASSERT_EQ(owner_->payload_bytes, 1000u);
  const std::byte* const ring = memory_.request().bytes;
  EXPECT_EQ(std::count(ring, ring + 4096, std::byte{'a'}), 0);
}

}  // namespace
}  // namespace gcoord::server
