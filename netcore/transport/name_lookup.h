// Turns a host name into an address without making the turn loop wait for a name server.
//
// glibc asks in a thread of its own (getaddrinfo_a); the caller polls. Numeric addresses do not
// come here. An object may be destroyed while the question is out: the answer is then thrown away.
#pragma once

#include "common/status.h"
#include "netcore/transport/tcp_socket.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::netcore {

class NameLookup {
 public:
  // Of several addresses the answer is number `attempt` modulo their count, so that a caller who
  // counts its attempts tries them all: a name may stand for one that nobody listens on.
  NameLookup(const std::string& host, std::uint16_t port, std::uint32_t attempt);
  ~NameLookup();
  NameLookup(NameLookup&&) noexcept;
  NameLookup& operator=(NameLookup&&) = delete;

  // Empty while the answer is out; then an address, or why there is none.
  std::optional<Result<SocketAddress>> poll();
  // Blocks until there is an answer: for start-up only.
  Result<SocketAddress> wait();

 private:
  struct Question;
  std::unique_ptr<Question> question_;
};

}  // namespace gcoord::netcore
