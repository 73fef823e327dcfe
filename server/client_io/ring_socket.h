// Client socket whose bytes go by rings in memory that node and client share
// (netcore/client_ring); the loop's thread serves it itself.
//
// The socket of the system carries the request for rings, the memory, and bells from then on; its
// end is the client's. Requests are copied out of the ring first and judged then, by the decoder
// that judges those of TCP, so what the client does to the memory meanwhile changes nothing. A ring
// whose words cannot be ends the connection, and is counted. The memory of the rings counts as the
// connection's. One thread.
#pragma once

#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "netcore/client_ring/mapping.h"
#include "server/client_io/client_socket.h"
#include "server/client_io/direct_socket.h"
#include "server/client_io/ring_counters.h"
#include "server/client_io/ring_polls.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::server {

class RingSocket final : public ClientSocket, private PolledRing {
 public:
  // What all of them share, and outlives them.
  struct Shared {
    // `room`: where input is copied to first.
    Shared(MetricsRegistry& metrics, std::span<std::byte> room) : counters(metrics), input(room) {}

    RingPolls polls;
    RingCounters counters;
    std::span<std::byte> input;
  };

  // Larger ones for nobody; smaller ones for who gets one answer.
  enum class Size : std::uint8_t { Full, Smallest };

  RingSocket(DirectSocket::Socket socket, Shared& shared, Size size);
  ~RingSocket() override;

  void await_input() override;
  Read read() override;

  protocol::DecodeStep next(protocol::FrameView& frame) override { return decoder_.next(frame); }

  protocol::BadFrame bad() const override { return decoder_.bad(); }

  Input input() const override {
    return {decoder_.begun(),
            decoder_.last_sequence(),
            decoder_.capacity_bytes() + (rings_.is_mapped() ? rings_.shape().request_bytes : 0)};
  }

  void release_input() override { decoder_.release(); }

  bool write(ReplyOutbox& out, bool tell) override;

  bool open() const override { return socket_.is_open(); }

  bool blocked() const override { return blocked_; }

  std::size_t unsent_bytes() const override { return 0; }

  std::size_t output_memory_bytes() const override {
    return rings_.is_mapped() ? rings_.shape().reply_bytes : 0;
  }

  void close() override;

 private:
  static_assert(netcore::kRingBytesMax <= kSocketReadBytes);

  bool serve() override;
  bool arm() override;

  void watch();
  void on_socket();
  void on_request_bytes();
  Status open_rings();
  void end();
  void copy_in(ReplyOutbox& out);
  // The client, which sleeps.
  void wake();

  DirectSocket::Socket socket_;
  Shared& shared_;
  Size size_;
  std::array<std::byte, sizeof(netcore::RingRequest)> request_{};
  std::size_t request_bytes_ = 0;  // That have come.
  netcore::RingMapping rings_;
  netcore::RingReader reader_;
  netcore::RingWriter writer_;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Requests};
  bool watched_ = false;
  bool awaited_ = false;  // The owner waits for input.
  bool blocked_ = false;  // Replies wait for room.
  bool lost_ = false;     // The client has gone; what it wrote before is still taken.
};

}  // namespace gcoord::server
