#include "server/client_io/ring_socket.h"

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

// Before there are rings: as large as they may become.
netcore::ClientRingShape RingSocket::ring_bytes() const {
  if (rings_.is_mapped()) {
    return rings_.shape();
  }
  switch (size_) {
    case Size::Full:
      return {};
    case Size::Smallest:
      return {netcore::kRingBytesMin, netcore::kRingBytesMin};
    case Size::None:
      break;
  }
  return {0, 0};
}

// The owner hears nothing inside the call: what is here already is found by the next poll.
void RingSocket::await_input() {
  awaited_ = true;
  if (watch_ == Watch::Never) {
    watch();
  }
  shared_.polls.heat(*this);
}

// One wait is under way as long as the client is there: for the request, then for bells, and for
// its end. What comes is handled once per pass: a wait that began in the handler would keep the
// loop's context from ever coming to an end while a client rings.
void RingSocket::watch() {
  if (lost_ || watch_ == Watch::UnderWay) {
    return;
  }
  watch_ = Watch::UnderWay;
  socket_.async_wait(DirectSocket::Socket::wait_read,
                     [this, alive = owner().keep_alive()](const asio::error_code& error) {
                       if (!open()) {
                         return;
                       }
                       watch_ = Watch::Due;
                       lost_ = lost_ || error;
                       on_socket();
                     });
}

void RingSocket::on_socket() {
  if (!rings_.is_mapped()) {
    on_request_bytes();
  } else if (!lost_) {
    on_bells();
  }
  if (!open()) {
    return;
  }
  shared_.polls.heat(*this);  // The next pass waits again.
  if (rings_.is_mapped()) {
    tell_owner();
  } else if (lost_) {
    drop();
  }
}

void RingSocket::on_bells() {
  const netcore::Bells bells = netcore::take_bells(socket_.native_handle());
  lost_ = bells == netcore::Bells::Gone;
  if (bells == netcore::Bells::Rung || bells == netcore::Bells::TooMany) {
    // Each sleep has one: what sleeps on does so anew.
    shared_.counters.loop_wakes.add();
    reader_.disarm();
    writer_.disarm();
  }
  loud_times_ = bells == netcore::Bells::TooMany ? loud_times_ + 1 : 0;
  if (loud_times_ >= kLoudTimesMax) {
    shared_.counters.loud.add();
    drop();
  }
}

// Also an owner that only waits for its last replies to leave ends this at once.
void RingSocket::drop() {
  lost_ = true;
  owner().on_writable({.gone = true});
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

bool RingSocket::serve() {
  if (watch_ == Watch::Due) {
    watch();
  }
  return rings_.is_mapped() && tell_owner();
}

// Each call to the owner may close this.
bool RingSocket::tell_owner() {
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
  if (watch_ == Watch::Due && !lost_) {
    return false;
  }
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
  const std::span<std::byte> room = decoder_.room_for(reader_.waiting_bytes());
  const netcore::RingTaken taken = reader_.take(room.data(), room.size());
  if (taken.wakes) {
    wake();
  }
  shared_.counters.read.add(taken.bytes);
  count(IoCopy::Receive, taken.bytes);
  decoder_.written(taken.bytes);
  shared_.polls.heat(*this);
  const bool more = reader_.has_input();
  const bool over = reader_.broken() || (lost_ && !more);
  return {.gone = over && taken.bytes == 0, .more = more};
}

bool RingSocket::write(ReplyOutbox& out, bool /*tell*/) {
  if (size_ == Size::None) {
    return refuse(out);
  }
  if (!rings_.is_mapped()) {
    blocked_ = out.bytes() > 0;  // They leave when there are rings.
    if (watch_ == Watch::Never) {
      watch();
    }
    return !lost_;
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

// The answer that waits goes by rings, and needs their memory, and a client that asks for them; the
// number says as much.
bool RingSocket::refuse(ReplyOutbox& out) {
  out.take(out.bytes());
  return netcore::send_offer(socket_.native_handle(), {.error = netcore::kShmNoPlace}, -1);
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

// Views of frames are into the decoder's memory, which stays. The client may keep the rings mapped
// for as long as it likes, but not their pages.
void RingSocket::end() {
  shared_.polls.remove(*this);
  if (!rings_.is_mapped()) {
    return;
  }
  const bool broken = reader_.broken() || writer_.broken();
  shared_.counters.broken.add(broken ? 1 : 0);
  shared_.counters.clients.add(-1);
  netcore::RingMapping rings = std::exchange(rings_, netcore::RingMapping{});
  if (lost_ || broken || blocked_) {
    rings.discard();  // Nobody reads the replies, or they are cut off.
  } else {
    shared_.parting.keep(std::move(rings));
  }
}

}  // namespace gcoord::server
