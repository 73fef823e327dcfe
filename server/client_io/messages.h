// Messages between the loop's thread and an I/O thread, each about one client socket.
//
// Everything in a message belongs to whoever has the message: the two threads share no memory but
// the queues. A socket has a key that no other socket has had.
#pragma once

#include "server/client_io/checked_input.h"
#include "server/tls/connection_tls.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {

// From the loop's thread.
struct IoCommand {
  enum class Kind : std::uint8_t {
    Probe,    // Of no socket: that it is taken says that the thread works.
    Add,      // `fd` is the thread's from now on.
    Receive,  // One read into `input`, which comes back with what has come.
    Release,  // The input that the thread has needs no memory while nothing comes.
    Send,     // `bytes`, after those before.
    Close,    // After one attempt to send what is here.
  };

  Kind kind = Kind::Add;
  bool tell = false;  // Send: wake the loop when all has left.
  int fd = -1;
  std::uint64_t socket = 0;
  std::unique_ptr<CheckedInput> input;
  std::vector<std::byte> bytes;
  std::unique_ptr<ConnectionTls> tls;  // Add: none where TLS is off.
};

// From an I/O thread: all that has happened to a socket since the last one.
struct IoReport {
  std::uint64_t socket = 0;
  std::unique_ptr<CheckedInput> input;  // Of a Receive that is done.
  bool more = false;                    // It filled the thread's buffer.
  bool gone = false;                    // The client has closed, or the socket failed.
  bool blocked = false;                 // The socket takes nothing now.
  std::size_t sent_bytes = 0;           // Of those that were to be sent, before encryption.
  std::size_t freed_bytes = 0;          // Memory that is not needed any more for what was sent.
  std::vector<std::byte> buffer;        // To be used again; perhaps empty.
  std::unique_ptr<TlsNews> tls;         // TLS has begun or failed; once or twice in a connection.
};

}  // namespace gcoord::server
