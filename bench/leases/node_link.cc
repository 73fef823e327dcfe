#include "bench/leases/node_link.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace gcoord::bench {

namespace {

Status lost(const char* what) {
  return Status{StatusCode::Unavailable, std::string{"the node is gone: "} + what};
}

int connect_to(const std::string& endpoint) {
  const sockaddr_in address = loopback_address(endpoint);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0 &&
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(socket);
    return -1;
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

}  // namespace

sockaddr_in loopback_address(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::strtoul(endpoint.c_str() + colon + 1, nullptr, 10)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Result<std::unique_ptr<NodeLink>> NodeLink::open(const std::string& endpoint) {
  const int socket = connect_to(endpoint);
  if (socket < 0) {
    return lost("cannot connect");
  }
  std::unique_ptr<NodeLink> link{new NodeLink{socket}};
  protocol::RequestSlot hello;
  hello.kind = protocol::RequestKind::Hello;
  protocol::Hello said;
  said.client = "gcoord-bench";
  link->add(hello, protocol::encode(said));
  GCOORD_TRY_STATUS(link->flush());
  Status welcomed = lost("no welcome");
  GCOORD_TRY_STATUS(link->await_replies([&](const protocol::ReplySlot&, auto payload) {
    auto welcome = protocol::decode_welcome(payload);
    welcomed = welcome.status();
    if (welcome.ok()) {
      link->welcome_ = std::move(welcome).value();
    }
  }));
  GCOORD_TRY_STATUS(welcomed);
  return link;
}

NodeLink::~NodeLink() {
  ::close(socket_);
}

void NodeLink::add(const protocol::RequestSlot& slot, std::span<const std::byte> payload) {
  if (!builder_.empty() && !builder_.fits(payload.size())) {
    builder_.finish(out_);
  }
  builder_.add(slot, payload);
  ++outstanding_;
}

Status NodeLink::flush() {
  if (!builder_.empty()) {
    builder_.finish(out_);
  }
  for (std::size_t at = 0; at < out_.size();) {
    const ssize_t written = ::send(socket_, out_.data() + at, out_.size() - at, MSG_NOSIGNAL);
    if (written <= 0) {
      return lost("cannot write");
    }
    at += static_cast<std::size_t>(written);
  }
  out_.clear();
  return Status{};
}

Status NodeLink::await_replies(const OnReply& on_reply) {
  while (outstanding_ > 0) {
    protocol::FrameView frame;
    const protocol::DecodeStep step = decoder_.next(frame);
    if (step == protocol::DecodeStep::Bad) {
      return lost("bad frame");
    }
    if (step == protocol::DecodeStep::Frame) {
      for (std::size_t index = 0; index < frame.slot_count(); ++index) {
        const protocol::ReplySlot reply = frame.reply(index);
        --outstanding_;
        on_reply(reply, frame.payload(reply));
      }
      continue;
    }
    const auto room = decoder_.writable();
    const ssize_t read = ::recv(socket_, room.data(), room.size(), 0);
    if (read <= 0) {
      return lost("cannot read");
    }
    decoder_.written(static_cast<std::size_t>(read));
  }
  return Status{};
}

}  // namespace gcoord::bench
