#include "server/client_io/ring_socket.h"

#include "common/assert.h"

#include <sys/socket.h>

#include <cerrno>
#include <span>
#include <utility>

namespace gcoord::server {

RingSocket::RingSocket(DirectSocket::Socket socket, Shared& shared, Size size)
    : socket_(std::move(socket)), shared_(shared), size_(size) {}

// One that was closed may outlive what it shared.
RingSocket::~RingSocket() {
  if (open()) {
    end();
  }
}

// The owner hears nothing inside the call: what is here already is found by the next poll.
void RingSocket::await_input() {
  awaited_ = true;
  watch();
  shared_.polls.heat(*this);
}

// One wait is under way as long as the client is there: for the request, then for bells, and for
// its end.
void RingSocket::watch() {
  if (lost_ || std::exchange(watched_, true)) {
    return;
  }
  socket_.async_wait(DirectSocket::Socket::wait_read,
                     [this, alive = owner().keep_alive()](const asio::error_code& error) {
                       watched_ = false;
                       if (!open()) {
                         return;
                       }
                       lost_ = lost_ || error;
                       on_socket();
                     });
}

void RingSocket::on_socket() {
  if (!rings_.is_mapped()) {
    on_request_bytes();
  } else if (!lost_) {
    const netcore::Bells bells = netcore::take_bells(socket_.native_handle());
    lost_ = bells == netcore::Bells::Gone;
    if (bells == netcore::Bells::Rung) {  // Each sleep has one: what sleeps on does so anew.
      shared_.counters.loop_wakes.add();
      reader_.disarm();
      writer_.disarm();
    }
  }
  if (!open()) {
    return;
  }
  if (!lost_) {
    watch();
  }
  if (rings_.is_mapped()) {
    shared_.polls.heat(*this);
    serve();
  } else if (lost_) {
    owner().on_readable({.gone = true});
  }
}

// What comes before the rings is one request, perhaps in pieces.
void RingSocket::on_request_bytes() {
  const std::span<std::byte> rest = std::span{request_}.subspan(request_bytes_);
  const ssize_t count = ::recv(socket_.native_handle(), rest.data(), rest.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return;
  }
  if (count <= 0) {
    lost_ = true;
    return;
  }
  request_bytes_ += static_cast<std::size_t>(count);
  if (request_bytes_ < request_.size()) {
    return;
  }
  lost_ = !open_rings().ok();
  if (!lost_ && blocked_) {
    blocked_ = false;
    owner().on_writable({.moved = true});
  }
}

Status RingSocket::open_rings() {
  const auto failed = [](const char* why) { return Status{StatusCode::FailedPrecondition, why}; };
  const int descriptor = socket_.native_handle();
  std::optional<netcore::RingOffer> offer = netcore::answer_to(request_);
  if (!offer.has_value()) {
    shared_.counters.foreign.add();
    return failed("no request for rings");
  }
  if (offer->error != 0) {
    shared_.counters.layout.add();
    netcore::send_offer(descriptor, *offer, -1);
    return failed("no layout in common");
  }
  if (size_ == Size::Smallest) {
    offer->shape = {netcore::kRingBytesMin, netcore::kRingBytesMin};
  }
  auto made = netcore::RingMapping::make(offer->shape);
  if (!made.ok()) {
    shared_.counters.exhausted.add();
    offer->error = netcore::kShmExhausted;
    netcore::send_offer(descriptor, *offer, -1);
    return made.status();
  }
  rings_ = std::move(made).value();
  if (!netcore::send_offer(descriptor, *offer, rings_.descriptor())) {
    rings_ = netcore::RingMapping{};
    return failed("the client does not take its rings");
  }
  rings_.close_descriptor();
  reader_ = netcore::RingReader{rings_.request()};
  writer_ = netcore::RingWriter{rings_.reply()};
  shared_.counters.clients.add(1);
  return Status{};
}

// Each call to the owner may close this.
bool RingSocket::serve() {
  if (!rings_.is_mapped()) {
    return false;
  }
  bool any = false;
  if (blocked_ && (lost_ || writer_.has_room())) {
    blocked_ = false;
    writer_.disarm();
    any = true;
    owner().on_writable({.moved = true});
  }
  if (!open() || !awaited_) {
    return any;
  }
  if (reader_.has_input()) {
    awaited_ = false;
    reader_.disarm();
    owner().on_readable({});
    return true;
  }
  if (lost_) {
    awaited_ = false;
    owner().on_readable({.gone = true});
    return true;
  }
  return any;
}

// What nobody waits for wakes nobody. One that is armed already has its bell on the way, if any.
bool RingSocket::arm() {
  if (!rings_.is_mapped()) {
    return true;  // The system's socket wakes the loop.
  }
  if (lost_ && (awaited_ || blocked_)) {
    return false;
  }
  const bool input = awaited_ && !reader_.is_armed() && !reader_.arm();
  const bool room = blocked_ && !writer_.is_armed() && !writer_.arm();
  return !input && !room;
}

ClientSocket::Read RingSocket::read() {
  if (!rings_.is_mapped()) {
    return {.gone = lost_};
  }
  const netcore::RingTaken taken = reader_.take(shared_.input.data(), shared_.input.size());
  if (taken.wakes) {
    wake();
  }
  shared_.counters.read.add(taken.bytes);
  count(IoCopy::Receive, taken.bytes);
  count(IoCopy::Frame, taken.bytes);
  decoder_.append(shared_.input.first(taken.bytes));
  shared_.polls.heat(*this);
  const bool more = reader_.has_input();
  const bool over = reader_.broken() || (lost_ && !more);
  return {.gone = over && taken.bytes == 0, .more = more};
}

bool RingSocket::write(ReplyOutbox& out, bool /*tell*/) {
  if (!rings_.is_mapped()) {
    blocked_ = out.bytes() > 0;  // They leave when there are rings.
    watch();
    return true;
  }
  if (lost_) {
    out.take(out.bytes());  // Nobody reads them; what the client wrote before it went counts.
    return true;
  }
  copy_in(out);
  if (out.bytes() > 0 && !writer_.broken()) {
    blocked_ = true;
    shared_.polls.heat(*this);
  }
  return !writer_.broken();
}

void RingSocket::copy_in(ReplyOutbox& out) {
  std::size_t copied = 0;
  while (!blocked_ && out.bytes() > 0) {
    const std::size_t count = writer_.write(out.waiting().data(), out.bytes());
    if (count == 0) {
      break;
    }
    out.take(count);
    copied += count;
  }
  if (writer_.publish()) {
    wake();
  }
  shared_.counters.written.add(copied);
  count(IoCopy::Send, copied);
}

void RingSocket::wake() {
  shared_.counters.wakes.add();
  count(IoCall::Wake);
  netcore::ring_bell(socket_.native_handle());
}

void RingSocket::close() {
  end();
  asio::error_code ignored;
  socket_.shutdown(DirectSocket::Socket::shutdown_both, ignored);
  socket_.close(ignored);
}

// Views of frames are into the decoder's memory, which stays.
void RingSocket::end() {
  shared_.polls.remove(*this);
  if (rings_.is_mapped()) {
    shared_.counters.broken.add(reader_.broken() || writer_.broken() ? 1 : 0);
    shared_.counters.clients.add(-1);
    rings_ = netcore::RingMapping{};
  }
}

}  // namespace gcoord::server
