#include "server/endpoints/connection.h"

#include <asio/buffer.hpp>
#include <asio/error.hpp>

#include <utility>

namespace gcoord::server {

Connection::Connection(Accepted accepted, const Events& events)
    : client{.address = accepted.address, .name = {}},
      id_(accepted.id),
      socket_(std::move(accepted.socket)),
      share_(std::move(accepted.share)),
      events_(events) {
  asio::error_code ignored;
  // Replies of a turn leave in one write; waiting for more would only add latency.
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
}

void Connection::start() {
  read();
}

bool Connection::may_read() const {
  return open() && !closing_ && outstanding_ < kOutstandingMax &&
         unsent_bytes() < kUnsentBytesPause;
}

void Connection::read() {
  if (reading_ || taking_frames_ || !may_read()) {
    return;
  }
  GCOORD_ASSERT(slot_next_ == frame_.slot_count());  // The decoder may forget the frame now.
  reading_ = true;
  // Only waits: a connection that is idle needs no room for bytes that do not come.
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->reading_ = false;
                       if (!self->open() || self->closing_) {
                         return;
                       }
                       if (error) {
                         self->close(CloseReason::ByClient);
                         return;
                       }
                       if (self->may_read()) {  // Else the flush that makes room reads on.
                         self->on_readable();
                       }
                     });
}

void Connection::on_readable() {
  asio::error_code error;
  const std::size_t byte_count =
      socket_.read_some(asio::buffer(events_.scratch.data(), events_.scratch.size()), error);
  if (error && error != asio::error::would_block) {
    close(CloseReason::ByClient);
    return;
  }
  if (byte_count > 0) {
    events_.on_input();
    decoder_.append(events_.scratch.first(byte_count));
    take_frames();
    count_memory();
  }
  read();
}

bool Connection::next_frame() {
  frame_ = protocol::FrameView{};
  slot_next_ = 0;
  const protocol::DecodeStep step = decoder_.next(frame_);
  if (step == protocol::DecodeStep::Bad) {
    events_.on_bad_frame(*this, decoder_.bad());
  }
  return step == protocol::DecodeStep::Frame;
}

// Each slot is asked for anew whether there is room, because one frame may hold 16,000 of them.
void Connection::take_frames() {
  taking_frames_ = true;
  while (may_read() && (slot_next_ < frame_.slot_count() || next_frame())) {
    const protocol::RequestSlot request = frame_.request(slot_next_);
    ++slot_next_;
    ++outstanding_;
    ++client.requests;
    events_.on_request(*this, request, frame_.payload(request));
  }
  taking_frames_ = false;
}

// Nothing is left to take when the connection may read on: then a frame has begun, or none has.
void Connection::count_memory() {
  if (!open()) {
    return;
  }
  const std::size_t input_bytes = decoder_.capacity_bytes();
  share_.hold(HeldBytes::In, begun() ? 0 : input_bytes);
  share_.hold(HeldBytes::Begun, begun() ? input_bytes : 0);
  share_.hold(HeldBytes::Out, out_.capacity_bytes());
  for (const HeldBytes kind : {HeldBytes::In, HeldBytes::Begun, HeldBytes::Out}) {
    if (share_.crowded(kind)) {
      events_.on_crowded(*this, kind);
    }
  }
}

void Connection::shrink() {
  if (slot_next_ == frame_.slot_count() && !taking_frames_) {
    frame_ = protocol::FrameView{};
    slot_next_ = 0;
    decoder_.release();
  }
  out_.release();
  count_memory();
}

void Connection::park() {
  GCOORD_ASSERT(outstanding_ > 0);
  --outstanding_;
  ++parked_;
  note_dirty();  // Reading may go on.
}

void Connection::unpark() {
  GCOORD_ASSERT(parked_ > 0);
  --parked_;
  ++outstanding_;
}

void Connection::note_dirty() {
  if (!dirty_) {
    dirty_ = true;
    events_.on_dirty(*this);
  }
}

void Connection::reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  if (!open()) {
    return;
  }
  outstanding_ -= outstanding_ > 0 ? 1 : 0;
  push(slot, payload);
}

void Connection::push(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  if (!open()) {
    return;
  }
  if (!out_.fits(payload.size())) {
    out_.finish_frame();
  }
  if (unsent_bytes() > kUnsentBytesMax) {
    close(CloseReason::SlowReader);
    return;
  }
  if (!out_.fits(payload.size())) {
    // More than any frame holds: an answer that was not measured before.
    close(CloseReason::SlowReader);
    return;
  }
  out_.add(slot, payload);
  note_dirty();
  count_memory();
}

void Connection::flush() {
  dirty_ = false;
  if (!open()) {
    return;
  }
  out_.finish_frame();
  write();
  if (!open()) {
    return;
  }
  if (!closing_ && !reading_ && may_read()) {
    // Reading had paused: frames may lie in the decoder already.
    take_frames();
    read();
  }
  count_memory();
}

void Connection::write() {
  while (open() && !waiting_to_write_ && unsent_bytes() > 0) {
    asio::error_code error;
    const std::size_t sent =
        socket_.write_some(asio::buffer(out_.waiting().data(), unsent_bytes()), error);
    out_.take(sent);
    if (error == asio::error::would_block) {
      waiting_to_write_ = true;
      socket_.async_wait(asio::ip::tcp::socket::wait_write,
                         [self = shared_from_this()](const asio::error_code& failed) {
                           self->waiting_to_write_ = false;
                           self->swept.blocked_since = 0;
                           if (!failed && self->open()) {
                             self->flush();
                           }
                         });
    } else if (error) {
      close(CloseReason::ByClient);
      return;
    }
  }
  if (open() && closing_ && unsent_bytes() == 0) {
    close(closing_reason_);
  }
}

void Connection::close_after_flush(CloseReason reason) {
  if (!open() || closing_) {
    return;
  }
  closing_ = true;
  closing_reason_ = reason;
  note_dirty();
}

void Connection::close(CloseReason reason) {
  if (!open()) {
    return;
  }
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  share_.give_back();
  events_.on_closed(*this, reason);
}

}  // namespace gcoord::server
