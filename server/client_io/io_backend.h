// Reads and writes of many sockets by the kernel, for an I/O thread: requests go in, completions
// come out of advance().
//
// A socket has at most one receive and one send under way. One thread calls everything but wake().
#pragma once

#include "common/status.h"
#include "server/client_io/io_tally.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace gcoord::server {

// A socket of a backend; whoever has more to say of one derives from it. Its descriptor is closed
// by the backend.
struct IoSocket {
  explicit IoSocket(int descriptor) : fd(descriptor) {}

  virtual ~IoSocket() = default;
  IoSocket(const IoSocket&) = delete;
  IoSocket& operator=(const IoSocket&) = delete;

  int fd;
  bool receiving = false;              // A receive() is under way.
  std::span<std::byte> room;           // Where its bytes should go first; may be empty.
  std::span<const std::byte> sending;  // Of the send() that is under way; empty: none is.

  // The backend's own.
  bool readable = true;  // Perhaps.
  bool writable = true;
  bool ended = false;  // The other side has closed, or the socket failed.
  bool queued = false;
  std::uint32_t under_way = 0;  // Requests that the kernel has.
  bool removed = false;
};

class IoBackend {
 public:
  struct Received {
    std::size_t room_bytes = 0;
    std::span<const std::byte> bytes;
    bool more = false;  // Perhaps more is here.
  };

  // What came of requests. Only advance() calls it; a call may make the next request.
  class Sink {
   public:
    // At least one byte in all: those at the beginning of the socket's room, then `bytes`.
    virtual void on_received(IoSocket& socket, const Received& received) = 0;
    // The send is done: so many of its bytes, at least one, have left.
    virtual void on_sent(IoSocket& socket, std::size_t byte_count) = 0;
    // The socket takes nothing now; the send goes on.
    virtual void on_blocked(IoSocket& socket) = 0;
    // The client has closed, or the socket failed: its request is not done, and no other will be.
    virtual void on_gone(IoSocket& socket) = 0;

   protected:
    ~Sink() = default;
  };

  virtual ~IoBackend() = default;

  // "epoll" or "io_uring"; labels a metric.
  virtual std::string_view name() const = 0;

  // Before any request for it. False: the system refuses.
  virtual bool add(IoSocket& socket) = 0;

  virtual void receive(IoSocket& socket) = 0;

  // The bytes stay where they are until the send is done or the socket is removed and destroyed.
  virtual void send(IoSocket& socket, std::span<const std::byte> bytes) = 0;

  // Closes it; the sink hears no more of it.
  virtual void remove(std::unique_ptr<IoSocket> socket) = 0;

  // Whether the kernel has ended all requests of removed sockets.
  virtual bool idle() const { return true; }

  // Gives requests to the kernel and completions to the sink; when there are none, sleeps for
  // `timeout_ms` at most (negative: without an end) or until wake().
  virtual void advance(Sink& sink, int timeout_ms) = 0;

  // Any thread: the next or present advance() does not sleep.
  virtual void wake() = 0;

  // What the thread of advance() has counted; the backend counts its system calls.
  IoTally& tally() { return tally_; }

 private:
  IoTally tally_;
};

}  // namespace gcoord::server
