// One connection to one node, over TCP with TLS inside where the client has it, by a Unix socket,
// or by rings in shared memory: frames out, frames in, nothing known of what they mean.
//
// Slots queued while a write is under way leave together in the next frame, so the number of system
// calls falls as the load rises. A connection is used once: after on_closed it is dropped and
// another takes its place. All callbacks run on the thread of the io_context, never inside a call
// into the connection, except on_reply, which must not destroy it.
#pragma once

#include "common/status.h"
#include "gcoord/clock.h"
#include "protocol/error_codes.h"
#include "protocol/frame.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace asio {
class io_context;
}

namespace gcoord::client {

class TlsAccess;

// Readers of what a connection sends, besides the node.
enum class Privacy : std::uint8_t {
  Readable,  // Everybody who sees the network: plain TCP to another machine.
  Private,   // Nobody but this machine: TLS, a Unix socket, or TCP on loopback.
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Events {
    // After the handshake of TLS, if there is one.
    std::function<void()> on_connected;
    std::function<void(const protocol::ReplySlot&, std::span<const std::byte>)> on_reply;

    // After each batch of replies: time to flush what they caused.
    std::function<void()> on_batch_end;

    // Once, with the reason in words. Nothing follows.
    std::function<void(const std::string&)> on_closed;
  };

  // Without `tls` in plain TCP.
  Connection(asio::io_context& context, Clock& clock, std::shared_ptr<TlsAccess> tls = nullptr);
  ~Connection();

  // "host:port"; or "unix:/path" or "shm:/path", where there is no TLS: the kernel says to the node
  // who calls, and to this side who serves the socket. Numeric addresses are not looked up.
  void connect(const std::string& address, Events events);

  using BeforeSend =
      std::function<void(const protocol::RequestSlot&, std::span<const std::byte> payload)>;

  // The function to call with each request before it is queued; it may send others, which come
  // first.
  void set_before_send(BeforeSend before) { before_send_ = std::move(before); }

  // Queues a request; flush() sends it. The payload is copied.
  void send(const protocol::RequestSlot& slot, std::span<const std::byte> payload);
  void flush();

  // Closes; on_closed follows with this reason unless the connection was closed before.
  void close(const std::string& reason);

  // The same for a reason with a number (client/net/failure.h): its evidence is what on_closed
  // gets.
  void close(const gcoord::Status& failure);

  // The number of why it was closed; None where that has none.
  protocol::ErrorCode failure_code() const { return failure_code_; }

  // Closes without a word: nothing is called any more.
  void abandon();

  // By the address that it has reached, from on_connected on; Readable before.
  Privacy privacy() const { return privacy_; }

  // Nothing queued and no write under way.
  bool idle() const { return !writing_ && builder_.empty() && queued_.empty(); }

  // When bytes last came in; for telling a slow node from a silent one.
  TimePoint last_received() const { return last_received_; }

  std::uint64_t frames_sent() const { return frames_sent_; }

  // The name of this connection in the log of the node (protocol::Welcome); 0: it has not said.
  std::uint64_t number() const { return number_; }

  void set_number(std::uint64_t number) { number_ = number; }

 private:
  struct Wire;  // Resolver and socket: asio's headers are dear, and most files need neither.

  void on_open(const std::error_code& error);
  void read();
  void on_ended(const std::error_code& error);
  void on_read(std::size_t byte_count);
  bool deliver_frames();
  bool deliver_plain(std::span<const std::byte> wire);
  void wipe_queued();
  void on_bad_bytes();
  void write();
  void shut();

  Clock& clock_;
  std::unique_ptr<Wire> wire_;
  Events events_;
  BeforeSend before_send_;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Replies};
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  std::vector<std::byte> queued_;  // Whole frames behind the write under way.
  std::vector<std::byte> writing_bytes_;
  TimePoint last_received_{};
  std::uint64_t frames_sent_ = 0;
  std::uint64_t number_ = 0;
  protocol::ErrorCode failure_code_ = protocol::ErrorCode::None;
  Privacy privacy_ = Privacy::Readable;
  bool open_ = false;  // Frames may go out.
  bool writing_ = false;
  bool secrets_queued_ = false;   // A password, a token or a key is in queued_ or the builder,
  bool secrets_written_ = false;  // or in writing_bytes_.
  bool closed_ = false;
  bool abandoned_ = false;
};

}  // namespace gcoord::client
