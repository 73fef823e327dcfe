// One client connection: bytes in, requests out; replies in, frames out. Bounded in every way.
//
// Its socket is served by the loop's thread or by an I/O thread (client_io/client_socket.h);
// nothing here differs by that.
//
// Input: a readable socket only says so (on_input_waits); requests are taken in take_turn(), a few
// at a time, so that one connection never has a pass for itself. At most two frames are buffered
// (protocol/frame.h), in memory that grows with what comes; a connection that waits for input holds
// none. Taking requests pauses, within a frame too, while too many are unanswered (waits for locks
// apart), too many bytes unsent, or the socket takes no more, so a client that pipelines without
// end is slowed by its own socket, and one that never reads costs nothing until it is closed.
// Output: the replies of a pass go to the socket at once, in as few frames as they fit; a client
// that does not read them is closed when its bytes exceed kUnsentBytesMax or have not moved for a
// while. A frame that is malformed, out of order, or before its Hello closes the connection. All
// that it holds is in its share of the account.
//
// Owned by the front end through shared_ptr; asynchronous operations keep it alive until they end.
// One thread.
#pragma once

#include "common/host/unix_socket.h"
#include "protocol/frame.h"
#include "protocol/reply_sink.h"
#include "server/client_io/client_socket.h"
#include "server/client_io/reply_outbox.h"
#include "server/endpoints/connection_account.h"
#include "server/identities/connection_identity.h"

#include <asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// Eight full frames: what one turn may answer to one client at most, with room to spare.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{8} << 20;

// Reading goes on only below these.
inline constexpr std::size_t kOutstandingMax = 16'384;
inline constexpr std::size_t kUnsentBytesPause = kUnsentBytesMax / 4;

// The same while the socket takes nothing: the answers of some hundred requests, so that the
// keep-alives of a client that reads late are still taken.
inline constexpr std::size_t kUnsentBytesBlocked = std::size_t{32} << 10;

// Of the name that a client gives itself, so that 100,000 connections keep some megabytes.
inline constexpr std::size_t kClientNameBytesKept = 64;

// Why a connection was closed; labels a metric. Never renumber.
enum class CloseReason : std::uint8_t {
  ByClient = 0,
  BadFrame = 1,
  BadHello = 2,
  SlowReader = 3,
  Idle = 4,
  Full = 5,  // The node's cap of connections.
  Stopping = 6,
  Memory = 7,        // The connection that held the most when the account's memory was full.
  GaveWay = 8,       // It was idle, and a newcomer needed its place.
  SlowFrame = 9,     // A frame began and did not end in time.
  Tls = 10,          // TLS failed, or the client speaks plain text where it may not.
  Denied = 11,       // By an administrator (server/limits).
  Identity = 12,     // Its identity, or its network, has as many connections as it may have.
  Revoked = 13,      // Its password or token counts no more: the user was changed or is gone.
  Expired = 14,      // The time of its token or certificate is over.
  Certificate = 15,  // A new revocation list has its certificate, or one of its chain.
  Count = 16,
};

class Connection final : public std::enable_shared_from_this<Connection>, private SocketOwner {
 public:
  // What the front end does with a connection's events.
  struct Events {
    // It may take its turn; queue it for that. `bulk`: it was held back, and has requests here.
    std::function<void(Connection&, bool bulk)> on_input_waits;
    // Once per turn, before its requests.
    std::function<void()> on_input;
    std::function<void(Connection&, const protocol::RequestSlot&, std::span<const std::byte>)>
        on_request;
    std::function<void(Connection&, protocol::BadFrame)> on_bad_frame;
    std::function<void(Connection&, CloseReason)> on_closed;
    // It has output that flush() shall send at the end of the turn.
    std::function<void(Connection&)> on_dirty;
    // Replies that waited beyond kUnsentBytesBlocked have left.
    std::function<void(Connection&)> on_room;
    // TLS has begun, or plain text where TLS is on, or it has failed; see tls().
    std::function<void(Connection&)> on_tls;
    // More of this is held than the account allows; the connection may be closed in the call.
    std::function<void(Connection&, HeldBytes)> on_crowded;
  };

  // What sweeps note of it.
  struct Swept {
    // Whether something came since the last one, and at which one that was last so.
    bool active = true;
    std::uint64_t active_at = 0;
    std::uint64_t blocked_since = 0;  // 0: the client reads.
    // The first that saw the frame which follows the one with that sequence unfinished; 0: none.
    std::uint64_t begun_since = 0;
    std::uint64_t begun_after = 0;
    // Of the first sweep with an unsettled place; 0: there was none.
    std::uint64_t unsettled_since = 0;
  };

  // Who is at the other end, for the log.
  struct Client {
    asio::ip::tcp::endpoint address;  // None where `local` is.
    std::optional<UnixPeer> local;    // It came by the Unix socket.
    std::string name;  // As its Hello says it; not printable perhaps. At most kClientNameBytesKept.
    std::uint64_t requests = 0;  // That came, with the Hello.
  };

  struct Accepted {
    protocol::ConnectionId id;
    asio::ip::tcp::endpoint address;
    std::optional<UnixPeer> local;
    std::unique_ptr<ClientSocket> socket;
    ConnectionAccount::Share share;
    AttachmentBudget* budget = nullptr;  // Of the sessions that it may attach; outlives it.
  };

  // `events` outlives it.
  Connection(Accepted accepted, const Events& events);

  // Begins to read. Call once.
  void start();

  // Takes at most about so many of the requests that are here. Whether there are more, or more
  // bytes perhaps: then it shall have another turn. Else it says itself when it is to have one.
  bool take_turn(std::size_t request_count_max);

  // Queues a reply; closes instead when the client does not read.
  void reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  // The same without an answer being owed.
  void push(const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  // Bytes in whole frames that the client has not taken.
  std::size_t backlog_bytes() const { return unsent_bytes(); }

  // Gives the socket what is queued, as far as it takes it now, and the rest when it can.
  void flush();

  // Stops reading, sends what is queued, and closes.
  void close_after_flush(CloseReason reason);
  void close(CloseReason reason);

  protocol::ConnectionId id() const { return id_; }

  bool open() const { return socket_->open(); }

  const ConnectionAccount::Share& share() const { return share_; }

  // Its place is its own now (ConnectionAccount::admit_to_prove).
  void settle() { share_.settle(); }

  // What an I/O thread has prepared of the request that on_request is being called for; nullptr:
  // nothing.
  const PreparedRequest* prepared() const { return socket_->prepared(slot_next_ - 1); }

  // As of its socket.
  const TlsNews* tls() const { return socket_->tls(); }

  const security::TlsPeer* peer() const { return socket_->peer(); }

  bool welcomed() const { return welcomed_; }

  void set_welcomed() { welcomed_ = true; }

  // A request waits; it counts again when it is about to be answered.
  void park();
  void unpark();

  std::size_t outstanding() const { return outstanding_ + parked_; }

  Swept swept;
  Client client;
  ConnectionIdentity identity;

  bool blocked() const { return socket_->blocked(); }

  // Whether the rest of a frame is awaited: it has begun, and all that came of it was read.
  bool begun() const { return input_ == Input::Awaited && socket_->input().begun; }

  // Of the last whole frame that came.
  std::uint64_t last_sequence() const { return socket_->input().last_sequence; }

  // Gives back the memory that a quiet connection does not need; that no turn has needed lately;
  // that is only kept for the replies of the next turn.
  void shrink();
  void trim();
  void give_back_kept();

 private:
  enum class Input : std::uint8_t {
    Paused,   // Nothing is taken until replies left.
    Awaited,  // The socket shall say when something comes.
    Queued,   // It waits for its turn.
  };

  std::shared_ptr<void> keep_alive() override { return shared_from_this(); }

  void on_readable(const Readable& readable) override;
  void on_writable(Writable writable) override;

  void on_tls() override { events_.on_tls(*this); }

  void await_input();
  void queue_input(bool bulk);
  bool read_some();
  void take_requests(std::uint64_t until);
  bool next_frame();
  bool has_request();
  void finish_frame();
  bool may_read() const;
  void note_dirty();
  void write();
  void count_memory();

  std::size_t unsent_bytes() const { return out_.bytes() + socket_->unsent_bytes(); }

  std::size_t output_memory_bytes() const {
    return out_.capacity_bytes() + socket_->output_memory_bytes();
  }

  protocol::ConnectionId id_;
  std::unique_ptr<ClientSocket> socket_;
  ConnectionAccount::Share share_;
  const Events& events_;
  // The frame whose slots are being taken; a view into the socket's input, so nothing is read
  // before the last of them.
  protocol::FrameView frame_;
  std::size_t slot_next_ = 0;
  ReplyOutbox out_;
  std::size_t outstanding_ = 0;  // At most kOutstandingMax.
  std::size_t parked_ = 0;
  bool welcomed_ = false;
  Input input_ = Input::Paused;
  bool taking_frames_ = false;
  bool full_ = false;  // Replies wait beyond kUnsentBytesBlocked.
  bool closing_ = false;
  bool dirty_ = false;
  CloseReason closing_reason_ = CloseReason::ByClient;
};

}  // namespace gcoord::server
