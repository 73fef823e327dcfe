#include "chaos/process/free_ports.h"

#include "common/random.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <random>

namespace gcoord::chaos {

namespace {

// Above the ports of well-known services, which cluster there.
constexpr std::uint32_t kLowest = 12'000;

std::uint32_t ephemeral_begin() {
  std::uint32_t begin = 0;
  std::ifstream{"/proc/sys/net/ipv4/ip_local_port_range"} >> begin;
  return begin > kLowest + 1000 && begin < 65'536 ? begin : 32'768;
}

// Binding is the question: it fails when somebody listens there.
bool is_free(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return false;
  }
  // As servers do, so that a port whose last connections linger counts as free.
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  const bool listening = bound && ::listen(fd, 1) == 0;
  ::close(fd);
  return listening;
}

}  // namespace

Result<std::vector<std::uint16_t>> free_ports(std::size_t count) {
  const std::uint32_t span = ephemeral_begin() - kLowest;
  // Clusters that start together begin their search in different places.
  std::random_device entropy;
  const std::uint32_t first = random_below(random64(entropy(), entropy(), 0), span);
  std::vector<std::uint16_t> ports;
  for (std::uint32_t tried = 0; tried < span && ports.size() < count; ++tried) {
    const auto port = static_cast<std::uint16_t>(kLowest + (first + tried) % span);
    if (is_free(port)) {
      ports.push_back(port);
    }
  }
  if (ports.size() < count) {
    return Status{StatusCode::ResourceExhausted, "no free ports on 127.0.0.1"};
  }
  return ports;
}

}  // namespace gcoord::chaos
