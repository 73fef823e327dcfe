#include "bench/report/metrics_scrape.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

namespace gcoord::bench {

namespace {

// HTTP/1.0: the answer ends where the connection does.
constexpr std::string_view kRequest = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
constexpr timeval kTimeout{5, 0};

std::string exchange(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof(kTimeout));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      ::send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0) {
    char bytes[8192];
    for (ssize_t count = 0; (count = ::recv(fd, bytes, sizeof(bytes), 0)) > 0;) {
      answer.append(bytes, static_cast<std::size_t>(count));
    }
  }
  ::close(fd);
  return answer;
}

}  // namespace

Result<MetricSums> scrape_metrics(std::uint16_t port) {
  const std::string answer = exchange(port);
  const std::size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) {
    return Status{StatusCode::Unavailable,
                  "no metrics at 127.0.0.1:" + std::to_string(port) + "/metrics"};
  }
  MetricSums sums;
  std::istringstream lines{answer.substr(body)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name_end = line.find_first_of("{ ");
    const std::size_t value_begin = line.rfind(' ');
    if (line.empty() || line[0] == '#' || value_begin == std::string::npos) {
      continue;
    }
    sums[line.substr(0, name_end)] += std::strtod(line.c_str() + value_begin, nullptr);
  }
  return sums;
}

}  // namespace gcoord::bench
