#include "chaos/rings/intruder.h"

#include "common/host/unix_socket.h"
#include "netcore/client_ring/handshake.h"
#include "protocol/hello.h"
#include "protocol/lock_messages.h"

#include <poll.h>
#include <sys/socket.h>

#include <utility>

namespace gcoord::chaos {

namespace {

bool wait_readable(int socket, std::chrono::milliseconds timeout) {
  pollfd waits{.fd = socket, .events = POLLIN, .revents = 0};
  return ::poll(&waits, 1, static_cast<int>(timeout.count())) == 1;
}

}  // namespace

Intruder::Intruder(std::unique_ptr<OwnedDescriptor> socket, netcore::RingMapping memory)
    : socket_(std::move(socket)), memory_(std::move(memory)), writer_(memory_.request()) {}

std::optional<Intruder> Intruder::connect(const std::string& path) {
  auto socket = std::make_unique<OwnedDescriptor>(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = UnixAddress::of(path);
  if (!address.ok() ||
      ::connect(socket->get(), address.value().get(), address.value().length()) != 0 ||
      !netcore::send_request(socket->get(), {}) ||
      !wait_readable(socket->get(), std::chrono::seconds{1})) {
    return std::nullopt;
  }
  const auto offer = netcore::receive_offer(socket->get());
  if (!offer.ok()) {
    return std::nullopt;
  }
  auto memory = netcore::RingMapping::adopt(offer.value().memory->get(), offer.value().offer.shape);
  if (!memory.ok()) {
    return std::nullopt;
  }
  return Intruder{std::move(socket), std::move(memory).value()};
}

std::vector<std::byte> Intruder::next_frame(std::uint32_t lookups) {
  protocol::RequestSlot slot;
  if (request_id_ == 0) {
    slot.kind = protocol::RequestKind::Hello;
    builder_.add(slot, protocol::encode(protocol::Hello{.client = "intruder"}));
    ++request_id_;
  } else {
    for (std::uint32_t k = 0; k < lookups; ++k) {
      slot.kind = protocol::RequestKind::LockGet;
      slot.request_id = ++request_id_;
      builder_.add(slot, protocol::bytes_of("intruder/" + std::to_string(k)));
    }
  }
  std::vector<std::byte> bytes;
  builder_.finish(bytes);
  return bytes;
}

std::size_t Intruder::write_unpublished(std::span<const std::byte> bytes) {
  return writer_.write(bytes.data(), bytes.size());
}

std::size_t Intruder::write(std::span<const std::byte> bytes) {
  const std::size_t count = write_unpublished(bytes);
  writer_.publish();
  ring();
  return count;
}

void Intruder::ring(std::size_t bells) const {
  const std::vector<std::byte> bytes(bells);
  [[maybe_unused]] const ssize_t sent =
      ::send(socket_->get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool Intruder::is_ended(std::chrono::milliseconds wait) const {
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    if (netcore::take_bells(socket_->get()) == netcore::Bells::Gone) {
      return true;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait_readable(socket_->get(), left)) {
      return false;
    }
  }
}

}  // namespace gcoord::chaos
