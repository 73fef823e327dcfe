#include "client/net/connection.h"

#include "client/net/connection_wire.h"
#include "client/net/failure.h"
#include "client/net/host_port.h"
#include "common/assert.h"
#include "common/wipe.h"
#include "protocol/identities/secret_kinds.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

// The first byte of an alert of TLS (RFC 8446, section 5.1), and of no frame.
constexpr std::byte kTlsAlert{0x15};

}  // namespace

Connection::Connection(asio::io_context& context, Clock& clock, std::shared_ptr<TlsAccess> tls)
    : clock_(clock), wire_(std::make_unique<Wire>(context, std::move(tls))) {}

Connection::~Connection() {
  if (secrets_queued_ && !builder_.empty()) {
    builder_.finish(queued_);  // Which wipes what it had.
  }
  wipe_queued();
  gcoord::wipe(writing_bytes_);
}

void Connection::wipe_queued() {
  if (std::exchange(secrets_queued_, !builder_.empty() && secrets_queued_)) {
    gcoord::wipe(queued_);
  }
}

void Connection::connect(const std::string& address, Events events) {
  events_ = std::move(events);
  last_received_ = clock_.now();
  if (is_local(address)) {
    const auto rings = shm_path(address);
    const gcoord::Status opened = wire_->open_local(
        shared_from_this(), rings ? *rings : *unix_path(address), rings.has_value());
    return opened.ok() ? void() : close(opened);
  }
  const HostPort target = split_host_port(address);
  const std::uint16_t port = port_number(target.port);
  if (port == 0) {
    return close("not of the form HOST:PORT");
  }
  if (wire_->access != nullptr) {
    auto session = wire_->access->begin(address);
    if (!session.ok()) {
      return close(session.status());
    }
    wire_->session = std::move(session).value();
    wire_->read_bytes.resize(Wire::kReadBytes);
  }
  asio::error_code error;
  const auto numeric = asio::ip::make_address(target.host, error);
  if (!error) {
    return wire_->open(shared_from_this(), {asio::ip::tcp::endpoint{numeric, port}});
  }
  wire_->resolver.async_resolve(
      target.host,
      target.port,
      [self = shared_from_this()](const asio::error_code& failed, const auto& endpoints) {
        if (failed) {
          self->close("cannot be resolved: " + failed.message());
        } else if (!self->closed_) {
          Wire::Endpoints found;
          for (const auto& each : endpoints) {
            found.emplace_back(each.endpoint());
          }
          self->wire_->open(self, found);
        }
      });
}

void Connection::on_open(const std::error_code& error) {
  if (closed_) {
    return;
  }
  if (error) {
    return close(wire_->connect_failure(error));
  }
  if (const gcoord::Status judged = wire_->judge_server(); !judged.ok()) {
    return close(judged);
  }
  privacy_ = wire_->privacy();
  if (wire_->wants_rings) {
    return wire_->begin_rings(shared_from_this());
  }
  asio::error_code ignored;
  // Batching is done here, so the kernel's own delays would only add latency.
  wire_->socket.set_option(asio::ip::tcp::no_delay{true}, ignored);
  if (wire_->session == nullptr) {
    open_ = true;
    events_.on_connected();
    flush();
  } else {
    write();
  }
  read();
}

void Connection::send(const protocol::RequestSlot& slot, std::span<const std::byte> payload) {
  if (before_send_) {
    before_send_(slot, payload);
  }
  if (!builder_.fits(payload.size())) {
    builder_.finish(queued_);
    ++frames_sent_;
  }
  builder_.add(slot, payload);
  secrets_queued_ = secrets_queued_ || protocol::request_has_secret(slot.kind);
}

void Connection::flush() {
  if (!open_ || writing_ || closed_) {
    return;
  }
  if (!builder_.empty()) {
    builder_.finish(queued_);
    ++frames_sent_;
  }
  if (!queued_.empty() || (wire_->session != nullptr && wire_->session->has_output())) {
    write();
  }
}

void Connection::write() {
  writing_bytes_.clear();
  if (wire_->session == nullptr) {
    writing_bytes_.swap(queued_);
    secrets_written_ = std::exchange(secrets_queued_, !builder_.empty() && secrets_queued_);
    if (wire_->rings.has_value()) {
      return wire_->write_ring(*this);
    }
  } else {
    const gcoord::Status sent = queued_.empty() ? gcoord::Status{} : wire_->session->send(queued_);
    if (!sent.ok()) {
      return close(sent);
    }
    wipe_queued();
    queued_.clear();
    wire_->session->take_output(writing_bytes_);
  }
  writing_ = true;
  asio::async_write(wire_->socket,
                    asio::buffer(writing_bytes_),
                    [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                      self->writing_ = false;
                      if (std::exchange(self->secrets_written_, false)) {
                        gcoord::wipe(self->writing_bytes_);
                      }
                      if (!error) {
                        self->flush();
                      } else if (self->wire_->session == nullptr) {
                        self->close(error.message());
                      }  // Else what was sent before the end is still to be read: the reason.
                    });
}

void Connection::read() {
  const bool secure = wire_->session != nullptr;
  const auto room = secure ? std::span<std::byte>{wire_->read_bytes} : decoder_.writable();
  wire_->socket.async_read_some(
      asio::buffer(room.data(), room.size()),
      [self = shared_from_this(), room](const asio::error_code& error, std::size_t byte_count) {
        if (error) {
          return self->on_ended(error);
        }
        Wire& wire = *self->wire_;
        wire.alerted = wire.alerted || (!wire.heard && room.front() == kTlsAlert);
        wire.heard = true;
        self->on_read(byte_count);
      });
}

// A node that does not expect TLS takes the first bytes for a bad frame and closes.
void Connection::on_ended(const std::error_code& error) {
  if (wire_->session != nullptr && !wire_->heard) {
    return close(numbered(protocol::ErrorCode::TlsNotSpoken,
                          "it closed the connection instead of a handshake of TLS"));
  }
  if (wire_->alerted) {
    return on_bad_bytes();
  }
  const bool ended = error == asio::error::eof;
  close(ended ? "the node closed the connection" : error.message());
}

void Connection::on_read(std::size_t byte_count) {
  if (closed_) {
    return;
  }
  last_received_ = clock_.now();
  bool good = true;
  if (wire_->session != nullptr) {
    good = deliver_plain(std::span{wire_->read_bytes}.first(byte_count));
  } else {
    decoder_.written(byte_count);
    good = deliver_frames();
  }
  if (closed_) {
    return;
  }
  events_.on_batch_end();
  if (!good) {
    return on_bad_bytes();
  }
  read();
}

void Connection::on_bad_bytes() {
  if (wire_->session == nullptr && wire_->alerted) {
    return close(numbered(protocol::ErrorCode::TlsPlaintext, "it speaks TLS only"));
  }
  close("sent bytes that are not a frame: " +
        std::string{protocol::bad_frame_name(decoder_.bad())});
}

// What came is decrypted and its frames are delivered. False: something else than frames was in it.
bool Connection::deliver_plain(std::span<const std::byte> wire) {
  security::TlsSession& session = *wire_->session;
  const gcoord::Status received = session.receive(wire);
  if (!open_ && session.open()) {
    open_ = true;
    events_.on_connected();
  }
  while (!closed_) {
    const std::size_t count = session.read(decoder_.writable());
    if (count == 0) {
      break;
    }
    decoder_.written(count);
    if (!deliver_frames()) {
      return false;
    }
  }
  if (closed_) {
    return true;
  }
  if (!received.ok()) {
    close(wire_->access->explained(received));
  } else if (session.ended()) {
    close("the node closed the connection");
  } else if (!open_ && session.has_output() && !writing_) {
    write();
  } else {
    flush();
  }
  return true;
}

bool Connection::deliver_frames() {
  protocol::FrameView frame;
  while (!closed_) {
    const protocol::DecodeStep step = decoder_.next(frame);
    if (step != protocol::DecodeStep::Frame) {
      return step == protocol::DecodeStep::NeedMore;
    }
    for (std::size_t index = 0; index < frame.slot_count() && !closed_; ++index) {
      const protocol::ReplySlot slot = frame.reply(index);
      events_.on_reply(slot, frame.payload(slot));
      if (protocol::reply_has_secret(slot.kind)) {
        gcoord::wipe(frame.secret(slot));
      }
    }
  }
  return true;
}

void Connection::close(const std::string& reason) {
  if (closed_) {
    return;
  }
  shut();
  // Later, because the caller may be in the middle of a walk over connections or operations.
  asio::post(wire_->socket.get_executor(), [self = shared_from_this(), reason] {
    if (!self->abandoned_) {
      self->events_.on_closed(reason);
    }
    self->events_ = {};
  });
}

void Connection::close(const gcoord::Status& failure) {
  if (!closed_) {
    failure_code_ = static_cast<protocol::ErrorCode>(failure.detail());
  }
  close(failure.message());
}

void Connection::abandon() {
  abandoned_ = true;
  shut();
}

void Connection::shut() {
  if (!closed_ && wire_->session != nullptr) {
    wire_->say_last_words(writing_);
  }
  closed_ = true;
  asio::error_code ignored;
  wire_->resolver.cancel();
  wire_->socket.close(ignored);
}

}  // namespace gcoord::client
