// Client socket whose bytes go by rings in memory that node and client share
// (netcore/client_ring); the loop's thread serves it itself.
//
// The socket of the system carries the request for rings, the memory, and bells from then on; its
// end is the client's. Requests are copied once: out of the ring to where the decoder that judges
// those of TCP judges them, so what the client does to the memory meanwhile changes nothing. A ring
// whose words cannot be ends the connection, and is counted. So does a client that rings without
// end: its bells are looked at once per pass, 256 of them. The memory of the rings counts as the
// connection's from its first moment, before the client has asked for it. At the connection's end
// the memory is given back, whether or not the client lets go of it; where the node ends it in
// order, replies stay for a while (PartingRings). One thread.
#pragma once

#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "netcore/client_ring/mapping.h"
#include "server/client_io/client_socket.h"
#include "server/client_io/direct_socket.h"
#include "server/client_io/parting_rings.h"
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
    explicit Shared(MetricsRegistry& metrics) : counters(metrics) {}

    RingPolls polls;
    PartingRings parting;
    RingCounters counters;
  };

  // The largest rings that the client gets. None: it is refused by the first write(), whether or
  // not it has asked.
  enum class Size : std::uint8_t { Full, Smallest, None };

  RingSocket(DirectSocket::Socket socket, Shared& shared, Size size);
  ~RingSocket() override;

  void await_input() override;
  Read read() override;

  protocol::DecodeStep next(protocol::FrameView& frame) override { return decoder_.next(frame); }

  protocol::BadFrame bad() const override { return decoder_.bad(); }

  Input input() const override {
    return {decoder_.begun(),
            decoder_.last_sequence(),
            decoder_.capacity_bytes() + ring_bytes().request_bytes};
  }

  void release_input() override { decoder_.release(); }

  bool write(ReplyOutbox& out, bool tell) override;

  bool open() const override { return socket_.is_open(); }

  bool blocked() const override { return blocked_; }

  std::size_t unsent_bytes() const override { return 0; }

  std::size_t output_memory_bytes() const override { return ring_bytes().reply_bytes; }

  void close() override;

 private:
  bool serve() override;
  bool arm() override;

  // So many times in a row that the loop takes bells there may be more of them than it takes.
  static constexpr std::uint32_t kLoudTimesMax = 8;

  enum class Watch : std::uint8_t {
    Never,     // Nothing was awaited yet.
    UnderWay,  // The loop's context waits for the socket.
    Due,       // Something came; the next pass waits again.
  };

  netcore::ClientRingShape ring_bytes() const;
  void watch();
  void on_socket();
  void on_bells();
  bool tell_owner();
  void drop();
  bool refuse(ReplyOutbox& out);
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
  Watch watch_ = Watch::Never;
  std::uint32_t loud_times_ = 0;
  bool awaited_ = false;  // The owner waits for input.
  bool blocked_ = false;  // Replies wait for room.
  bool lost_ = false;     // The client has gone; what it wrote before is still taken.
};

}  // namespace gcoord::server
