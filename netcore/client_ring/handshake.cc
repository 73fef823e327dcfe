#include "netcore/client_ring/handshake.h"

#include "netcore/client_ring/mapping.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

Status not_spoken(const std::string& what) {
  return {StatusCode::FailedPrecondition, what, kShmNotSpoken};
}

// The one descriptor that came with a message. Where more came, all are closed: the buffer has room
// for two, because a length is rounded up, and the kernel closes what does not fit.
std::unique_ptr<OwnedDescriptor> descriptor_of(msghdr& message) {
  std::vector<std::unique_ptr<OwnedDescriptor>> all;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t byte_count = control->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= byte_count; at += sizeof(int)) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(control) + at, sizeof(descriptor));
      all.push_back(std::make_unique<OwnedDescriptor>(descriptor));
    }
  }
  return all.size() == 1 ? std::move(all.front()) : nullptr;
}

Status refusal(const RingOffer& offer) {
  if (offer.error == kShmLayoutUnknown) {
    return {StatusCode::FailedPrecondition,
            "the node's is " + std::to_string(offer.layout) + ", this client's " +
                std::to_string(kClientRingLayout),
            kShmLayoutUnknown};
  }
  if (offer.error == kShmNoPlace) {
    return {
        StatusCode::ResourceExhausted, "the node has as many connections as it takes", kShmNoPlace};
  }
  return {StatusCode::ResourceExhausted, "the node refused", kShmExhausted};
}

}  // namespace

std::optional<RingOffer> answer_to(std::span<const std::byte, sizeof(RingRequest)> bytes) {
  RingRequest request;
  std::memcpy(static_cast<void*>(&request), bytes.data(), sizeof(request));
  if (request.magic != kRingRequestMagic || request.layout_min > request.layout_max) {
    return std::nullopt;
  }
  RingOffer offer;
  if (request.layout_min > kClientRingLayout || request.layout_max < kClientRingLayout) {
    offer.error = kShmLayoutUnknown;
  }
  if (is_sound(request.wanted)) {
    offer.shape = request.wanted;
  }
  return offer;
}

bool send_request(int socket, const RingRequest& request) {
  return ::send(socket, &request, sizeof(request), kFlags) == static_cast<ssize_t>(sizeof(request));
}

bool send_offer(int socket, const RingOffer& offer, int memory) {
  RingOffer bytes = offer;
  iovec part{.iov_base = &bytes, .iov_len = sizeof(bytes)};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (memory >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(memory));
    std::memcpy(CMSG_DATA(header), &memory, sizeof(memory));
  }
  return ::sendmsg(socket, &message, kFlags) == static_cast<ssize_t>(sizeof(bytes));
}

Result<ReceivedOffer> receive_offer(int socket) {
  ReceivedOffer received;
  iovec part{.iov_base = &received.offer, .iov_len = sizeof(received.offer)};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0 && would_block()) {
    return Status{StatusCode::Unavailable, "no offer yet"};
  }
  if (count > 0) {
    received.memory = descriptor_of(message);
  }
  if (count != static_cast<ssize_t>(sizeof(received.offer)) ||
      received.offer.magic != kRingOfferMagic) {
    return not_spoken(count <= 0 ? "it closed the socket instead of an offer of memory"
                                 : "it answered with something else than an offer of memory");
  }
  if (received.offer.error != 0) {
    return refusal(received.offer);
  }
  if (received.offer.layout != kClientRingLayout || received.memory == nullptr) {
    return not_spoken("its offer has no memory of a layout that this client knows");
  }
  return received;
}

void ring_bell(int socket) {
  const char bell = 0;
  [[maybe_unused]] const ssize_t sent = ::send(socket, &bell, 1, kFlags);
}

Bells take_bells(int socket) {
  std::array<std::byte, 64> bells;
  auto taken = Bells::None;
  for (std::size_t round = 0; round < kBellsMax / bells.size(); ++round) {
    const ssize_t count = ::recv(socket, bells.data(), bells.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && !would_block())) {
      return Bells::Gone;
    }
    taken = count > 0 ? Bells::Rung : taken;
    if (count < static_cast<ssize_t>(bells.size())) {
      return taken;
    }
  }
  return Bells::TooMany;
}

}  // namespace gcoord::netcore
