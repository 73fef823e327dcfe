#include "server/endpoints/connection.h"

#include "common/wipe.h"
#include "protocol/identities/secret_kinds.h"

#include <utility>

namespace gcoord::server {

Connection::Connection(Accepted accepted, const Events& events)
    : client{.address = accepted.address, .local = accepted.local, .name = {}},
      identity(accepted.budget),
      id_(accepted.id),
      socket_(std::move(accepted.socket)),
      share_(std::move(accepted.share)),
      events_(events) {
  socket_->bind(*this);
}

// Rings in shared memory count from now on.
void Connection::start() {
  await_input();
  count_memory();
}

bool Connection::may_read() const {
  const std::size_t unsent_max = blocked() ? kUnsentBytesBlocked : kUnsentBytesPause;
  return open() && !closing_ && outstanding_ < kOutstandingMax && unsent_bytes() < unsent_max;
}

void Connection::await_input() {
  GCOORD_ASSERT(slot_next_ == frame_.slot_count());  // The decoder may forget the frame now.
  input_ = Input::Awaited;
  socket_->await_input();
}

void Connection::on_readable(const Readable& readable) {
  if (closing_) {
    return;
  }
  if (readable.gone) {
    close(CloseReason::ByClient);
  } else if (readable.part && may_read()) {
    await_input();  // The rest costs no turn.
    count_memory();
  } else {
    queue_input(readable.bulk);
  }
}

// What an I/O thread has read waits here for its turn, so it counts from now on.
void Connection::queue_input(bool bulk) {
  input_ = Input::Queued;
  count_memory();
  if (open()) {
    events_.on_input_waits(*this, bulk);
  }
}

// Of all that is here already before anything is read.
bool Connection::take_turn(std::size_t request_count_max) {
  GCOORD_ASSERT(input_ == Input::Queued);
  input_ = Input::Paused;
  if (!open() || closing_) {
    return false;
  }
  events_.on_input();
  const std::uint64_t until = client.requests + request_count_max;
  take_requests(until);
  bool more = false;
  if (may_read() && client.requests < until) {
    more = read_some();
    take_requests(until);
  }
  more = more || (client.requests >= until && may_read() && has_request());
  if (may_read()) {  // Else the flush that makes room goes on.
    if (more) {
      input_ = Input::Queued;
    } else {
      await_input();
    }
  }
  count_memory();
  return open() && input_ == Input::Queued;
}

// Whether more is here already, perhaps.
bool Connection::read_some() {
  const ClientSocket::Read read = socket_->read();
  if (read.gone) {
    close(CloseReason::ByClient);
  }
  return read.more;
}

bool Connection::next_frame() {
  frame_ = protocol::FrameView{};
  slot_next_ = 0;
  const protocol::DecodeStep step = socket_->next(frame_);
  if (step == protocol::DecodeStep::Bad) {
    events_.on_bad_frame(*this, socket_->bad());
  }
  socket_->count(IoEvent::FrameIn, step == protocol::DecodeStep::Frame ? 1 : 0);
  return step == protocol::DecodeStep::Frame;
}

// Whether one is here already; a frame that is just as long as a turn leaves nothing behind.
bool Connection::has_request() {
  return slot_next_ < frame_.slot_count() || next_frame();
}

// Until so many came in all. Each slot is asked for anew whether there is room, because one frame
// may hold 16,000 of them.
void Connection::take_requests(std::uint64_t until) {
  taking_frames_ = true;
  const std::uint64_t before = client.requests;
  std::size_t copied_slots = 0;
  protocol::RequestSlot copy;
  while (may_read() && client.requests < until && has_request()) {
    const protocol::RequestSlot& request = frame_.request(slot_next_, copy);
    copied_slots += &request == &copy ? 1 : 0;
    ++slot_next_;
    ++outstanding_;
    ++client.requests;
    events_.on_request(*this, request, frame_.payload(request));
    if (protocol::request_has_secret(request.kind)) {
      wipe(frame_.secret(request));  // Whoever needs it for longer has a copy.
    }
  }
  taking_frames_ = false;
  socket_->count(IoEvent::Request, client.requests - before);
  socket_->count(IoCopy::Slot, copied_slots * protocol::kSlotBytes);
}

// Nothing is left to take when the connection may read on: then a frame has begun, or none has.
void Connection::count_memory() {
  if (!open()) {
    return;
  }
  const std::size_t input_bytes = socket_->input().memory_bytes;
  share_.hold(HeldBytes::In, begun() ? 0 : input_bytes);
  share_.hold(HeldBytes::Begun, begun() ? input_bytes : 0);
  share_.hold(HeldBytes::Out, output_memory_bytes());
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
    socket_->release_input();
  }
  out_.release();
  count_memory();
}

void Connection::trim() {
  out_.trim();
  count_memory();
}

// Tells nobody that too much is held: it is called because of that.
void Connection::give_back_kept() {
  if (open()) {
    out_.release();
    share_.hold(HeldBytes::Out, output_memory_bytes());
  }
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

// One that closes gets what was queued before, and no more: who was cut would go on to hear of what
// it watches, for as long as it reads slowly.
void Connection::push(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  if (!open() || closing_) {
    return;
  }
  if (!out_.fits(payload.size())) {
    finish_frame();
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
  socket_->count(IoEvent::Reply, 1);
  socket_->count(IoCopy::Reply, protocol::kSlotBytes + payload.size());
  note_dirty();
  // Hundreds of replies leave in a turn, and few of them need more memory.
  if (output_memory_bytes() != share_.held(HeldBytes::Out)) {
    count_memory();
  }
}

void Connection::finish_frame() {
  const std::size_t before = out_.bytes();
  socket_->count(IoCopy::Assemble, out_.finish_frame());
  socket_->count(IoEvent::FrameOut, out_.bytes() != before ? 1 : 0);
}

void Connection::flush() {
  dirty_ = false;
  if (!open()) {
    return;
  }
  finish_frame();
  full_ = full_ || unsent_bytes() >= kUnsentBytesBlocked;
  write();
  if (!open()) {
    return;
  }
  if (full_ && unsent_bytes() < kUnsentBytesBlocked) {
    full_ = false;
    events_.on_room(*this);
  }
  if (input_ == Input::Paused && may_read()) {
    queue_input(true);
  }
  count_memory();
}

void Connection::write() {
  if (!socket_->write(out_, closing_ || full_)) {
    close(CloseReason::ByClient);
    return;
  }
  if (closing_ && unsent_bytes() == 0) {
    close(closing_reason_);
  }
}

void Connection::on_writable(Writable writable) {
  swept.blocked_since = writable.moved ? 0 : swept.blocked_since;
  out_.give_back(std::move(writable.buffer));
  if (writable.gone) {
    close(CloseReason::ByClient);
  } else {
    flush();
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
  socket_->close();
  share_.give_back();
  events_.on_closed(*this, reason);
}

}  // namespace gcoord::server
