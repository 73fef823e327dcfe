#include "client/net/connection.h"

#include "client/net/asio.h"
#include "client/net/host_port.h"
#include "common/assert.h"

#include <asio/connect.hpp>

#include <utility>

namespace gcoord::client {

struct Connection::Wire {
  using Endpoints = asio::ip::tcp::resolver::results_type;

  explicit Wire(asio::io_context& context) : resolver(context), socket(context) {}

  void open(const std::shared_ptr<Connection>& self, const Endpoints& endpoints) {
    asio::async_connect(socket, endpoints, [self](const std::error_code& error, const auto&) {
      self->on_open(error);
    });
  }

  asio::ip::tcp::resolver resolver;
  asio::ip::tcp::socket socket;
};

Connection::Connection(asio::io_context& context, Clock& clock)
    : clock_(clock), wire_(std::make_unique<Wire>(context)) {}

Connection::~Connection() = default;

void Connection::connect(const std::string& address, Events events) {
  events_ = std::move(events);
  last_received_ = clock_.now();
  const HostPort target = split_host_port(address);
  const std::uint16_t port = port_number(target.port);
  if (port == 0) {
    return close("not of the form HOST:PORT");
  }
  asio::error_code error;
  const auto numeric = asio::ip::make_address(target.host, error);
  if (!error) {
    const asio::ip::tcp::endpoint endpoint{numeric, port};
    return wire_->open(shared_from_this(),
                       Wire::Endpoints::create(endpoint, target.host, target.port));
  }
  wire_->resolver.async_resolve(
      target.host,
      target.port,
      [self = shared_from_this()](const asio::error_code& failed, const auto& endpoints) {
        if (failed) {
          self->close("cannot be resolved: " + failed.message());
        } else if (!self->closed_) {
          self->wire_->open(self, endpoints);
        }
      });
}

void Connection::on_open(const std::error_code& error) {
  if (closed_) {
    return;
  }
  if (error) {
    return close(error.message());
  }
  open_ = true;
  asio::error_code ignored;
  // Batching is done here, so the kernel's own delays would only add latency.
  wire_->socket.set_option(asio::ip::tcp::no_delay{true}, ignored);
  events_.on_connected();
  flush();
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
}

void Connection::flush() {
  if (!open_ || writing_ || closed_) {
    return;
  }
  if (!builder_.empty()) {
    builder_.finish(queued_);
    ++frames_sent_;
  }
  if (!queued_.empty()) {
    write();
  }
}

void Connection::write() {
  writing_ = true;
  writing_bytes_.clear();
  writing_bytes_.swap(queued_);
  asio::async_write(wire_->socket,
                    asio::buffer(writing_bytes_),
                    [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                      self->writing_ = false;
                      if (error) {
                        return self->close(error.message());
                      }
                      self->flush();
                    });
}

void Connection::read() {
  const auto room = decoder_.writable();
  wire_->socket.async_read_some(
      asio::buffer(room.data(), room.size()),
      [self = shared_from_this()](const asio::error_code& error, std::size_t byte_count) {
        if (error) {
          const bool ended = error == asio::error::eof;
          return self->close(ended ? "the node closed the connection" : error.message());
        }
        self->on_read(byte_count);
      });
}

void Connection::on_read(std::size_t byte_count) {
  if (closed_) {
    return;
  }
  decoder_.written(byte_count);
  last_received_ = clock_.now();
  const bool good = deliver_frames();
  if (closed_) {
    return;
  }
  events_.on_batch_end();
  if (!good) {
    return close("sent bytes that are not a frame: " +
                 std::string{protocol::bad_frame_name(decoder_.bad())});
  }
  read();
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

void Connection::abandon() {
  abandoned_ = true;
  shut();
}

void Connection::shut() {
  closed_ = true;
  asio::error_code ignored;
  wire_->resolver.cancel();
  wire_->socket.close(ignored);
}

}  // namespace gcoord::client
