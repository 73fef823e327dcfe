// Socket of a client connection, as the loop's thread uses it.
//
// Two kinds: direct_socket.h reads, checks and writes in the calls; with handed_socket.h a thread
// of its own does (io_thread.h), and the calls only hand over. A connection does not know which.
// Input is awaited, then read, then taken frame by frame; until it is awaited again nothing more is
// read from the client, which is the credit of this direction. With TLS, input and output are those
// of its plain side; the handshake goes by itself while input is awaited. The loop's thread.
#pragma once

#include "protocol/frame.h"
#include "server/client_io/io_tally.h"
#include "server/client_io/reply_outbox.h"
#include "server/ingress/prepared_requests.h"
#include "server/tls/connection_tls.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::server {

// Bytes of one read: some hundred requests, or a sixteenth of the largest frame.
inline constexpr std::size_t kSocketReadBytes = std::size_t{64} << 10;

// The connection of a socket: what it does when something happened.
class SocketOwner {
 public:
  // While an asynchronous operation is under way.
  virtual std::shared_ptr<void> keep_alive() = 0;

  struct Readable {
    bool gone = false;  // The client has closed, or the socket failed.
    bool part = false;  // A part of a frame was read, and nothing is there to take.
    bool bulk = false;  // The read before this one left some behind.
  };

  // Once after each await_input(). A thread that finds the client gone may say so at any time.
  virtual void on_readable(const Readable& readable) = 0;

  struct Writable {
    bool gone = false;              // As in Readable.
    bool moved = false;             // The client has taken something, or takes something again.
    std::vector<std::byte> buffer;  // Memory of what was written, to be used again.
  };

  // Output has left, may leave again, or needs less memory.
  virtual void on_writable(Writable writable) = 0;

  // TLS has begun, or plain text where TLS is on, or it has failed (ClientSocket::tls()). Before
  // anything is readable by it; the socket may be closed in the call.
  virtual void on_tls() = 0;

 protected:
  ~SocketOwner() = default;
};

class ClientSocket {
 public:
  virtual ~ClientSocket() = default;

  // Once, before anything else; the owner has this socket.
  void bind(SocketOwner& owner) { owner_ = &owner; }

  // Where the loop's thread counts what this socket costs; it outlives the socket.
  void set_tally(IoTally& tally) { tally_ = &tally; }

  // As IoTally::add; counts nothing without a tally.
  template <typename... Counted>
  void count(Counted... counted) {
    if (tally_ != nullptr) {
      tally_->add(counted...);
    }
  }

  virtual bool open() const = 0;

  // The owner is told when something comes, or has come. All frames have been taken.
  virtual void await_input() = 0;

  struct Read {
    bool gone = false;
    bool more = false;  // Perhaps more is here already.
  };

  // Takes in what has come; next() gives its frames.
  virtual Read read() = 0;

  // The next checked frame; it is valid until the next read(), await_input() or release_input().
  virtual protocol::DecodeStep next(protocol::FrameView& frame) = 0;

  // What an I/O thread has prepared of a slot of the frame that next() gave last (server/ingress);
  // nullptr: nothing, as always where the loop's thread serves the socket. Valid as long as the
  // frame.
  virtual const PreparedRequest* prepared(std::size_t /*slot*/) const { return nullptr; }

  // Why next() said Bad.
  virtual protocol::BadFrame bad() const = 0;

  // As of the last read that the loop's thread knows of.
  struct Input {
    bool begun = false;  // The first bytes of a frame are here, its last are not.
    std::uint64_t last_sequence = 0;
    std::size_t memory_bytes = 0;
  };

  virtual Input input() const = 0;

  // Gives memory back that waits for input alone.
  virtual void release_input() = 0;

  // Takes what the outbox has in whole frames, as far as there is room. `tell`: the owner waits for
  // it to leave, and is told. False: the socket failed.
  virtual bool write(ReplyOutbox& out, bool tell) = 0;

  // Whether the client takes nothing now.
  virtual bool blocked() const = 0;

  // Taken by write() and not by the kernel yet, and the memory of it.
  virtual std::size_t unsent_bytes() const = 0;
  virtual std::size_t output_memory_bytes() const = 0;

  // Ends everything; the owner is told nothing more.
  virtual void close() = 0;

  // What TLS says of the connection; nullptr: it is off, or has not begun.
  const TlsNews* tls() const { return tls_.get(); }

  // Who is at the other end, by a certificate that is good; nullptr: it showed none, or none yet.
  const security::TlsPeer* peer() const {
    return tls_ != nullptr && tls_->peer.has_value() ? &*tls_->peer : nullptr;
  }

 protected:
  SocketOwner& owner() const { return *owner_; }

  void note_tls(std::unique_ptr<TlsNews> news) {
    tls_ = std::move(news);
    owner_->on_tls();
  }

 private:
  SocketOwner* owner_ = nullptr;
  IoTally* tally_ = nullptr;
  std::unique_ptr<TlsNews> tls_;
};

}  // namespace gcoord::server
