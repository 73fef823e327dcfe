#include "client/discovery/srv_lookup.h"

#include "client/net/failure.h"
#include "client/net/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

constexpr std::uint16_t kDnsPort = 53;
constexpr int kRounds = 2;
// Of one server; a flood of others' answers is not read for ever.
constexpr int kDatagramsMax = 64;

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host.data(), host.size());
    return "[" + std::string{host.data()} + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, host.data(), host.size());
  return std::string{host.data()} + ":" + std::to_string(ntohs(v4.sin_port));
}

template <typename Address>
NameServer name_server(const Address& address) {
  NameServer server;
  std::memcpy(&server.address, &address, sizeof address);
  server.bytes = sizeof address;
  server.text = text_of(server.address);
  return server;
}

// What one server said, or why it said nothing.
struct Heard {
  std::optional<SrvAnswer> answer;
  std::string failure;
};

// A socket of its own, whose port nobody else can guess. Connected, so that the kernel drops what
// comes from others.
class Exchange {
 public:
  explicit Exchange(const NameServer& server)
      : socket_(::socket(server.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const auto* address = reinterpret_cast<const sockaddr*>(&server.address);
    ready_ = socket_ >= 0 && ::connect(socket_, address, server.bytes) == 0;
  }

  ~Exchange() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }

  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  Heard ask(const std::string& name, DnsExtension extension, milliseconds until) {
    std::uint16_t id = 0;
    if (!ready_ || ::getrandom(&id, sizeof id, 0) != sizeof id) {
      return {.answer = {}, .failure = std::strerror(errno)};
    }
    const auto query = encode_srv_query(id, name, extension);
    if (::send(socket_, query.data(), query.size(), MSG_NOSIGNAL) < 0) {
      return {.answer = {}, .failure = std::strerror(errno)};
    }
    // One byte more than an answer has, so that one that was cut is not taken for whole.
    std::array<std::byte, kMessageBytesMax + 1> bytes{};
    int dropped = 0;
    while (dropped < kDatagramsMax && wait(until)) {
      const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (got < 0 && errno != EAGAIN && errno != EINTR) {
        return {.answer = {}, .failure = std::strerror(errno)};
      }
      const auto count = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
      if (auto answer = decode_srv_answer(std::span{bytes}.first(count), id, name)) {
        return {.answer = std::move(answer), .failure = {}};
      }
      dropped += got >= 0 ? 1 : 0;
    }
    return {.answer = {},
            .failure = dropped == 0 ? "no answer"
                                    : std::to_string(dropped) + " messages that are no answer"};
  }

 private:
  bool wait(milliseconds until) const {
    const auto left = (until - monotonic_now()).count();
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    return left > 0 && ::poll(&waiting, 1, static_cast<int>(left)) > 0;
  }

  int socket_;
  bool ready_ = false;
};

// Whether the name is decided by this answer, or another server may know more.
bool decides(const SrvAnswer& answer) {
  const bool whole = !answer.truncated || !answer.records.empty();
  return (answer.result == 0 && whole) || answer.result == kDnsNoSuchName;
}

Heard ask(const NameServer& server, const std::string& name, milliseconds until) {
  Heard heard = Exchange(server).ask(name, DnsExtension::Edns, until);
  if (heard.answer && heard.answer->result == kDnsFormatError) {
    heard = Exchange(server).ask(name, DnsExtension::None, until);
  }
  if (heard.answer && !decides(*heard.answer)) {
    heard.failure = heard.answer->result == 0
                        ? "the answer is truncated"
                        : "refused with code " + std::to_string(heard.answer->result);
  }
  return heard;
}

}  // namespace

std::optional<NameServer> parse_name_server(std::string_view text) {
  const auto parse = [](const std::string& host, std::uint16_t port) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    return ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1 ? std::optional{name_server(v4)}
           : ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1
               ? std::optional{name_server(v6)}
               : std::nullopt;
  };
  if (auto alone = parse(std::string{text}, kDnsPort)) {
    return alone;
  }
  const HostPort parts = split_host_port(std::string{text});
  const std::uint16_t port = port_number(parts.port);
  return port == 0 ? std::nullopt : parse(parts.host, port);
}

milliseconds monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds{now.tv_sec} +
                                                  std::chrono::nanoseconds{now.tv_nsec});
}

std::vector<NameServer> system_name_servers() {
  std::vector<NameServer> servers;

  struct __res_state state {};

  if (::res_ninit(&state) != 0) {
    return servers;
  }
  for (int i = 0; i < std::min(state.nscount, MAXNS); ++i) {
    const sockaddr_in6* v6 = state._u._ext.nsaddrs[i];
    if (state.nsaddr_list[i].sin_family == AF_INET) {
      servers.push_back(name_server(state.nsaddr_list[i]));
    } else if (v6 != nullptr && v6->sin6_family == AF_INET6) {
      servers.push_back(name_server(*v6));
    }
  }
  ::res_nclose(&state);
  return servers;
}

Result<std::vector<SrvRecord>> look_up_srv(const std::string& name,
                                           const std::vector<NameServer>& servers,
                                           milliseconds timeout) {
  const milliseconds end = monotonic_now() + timeout;
  std::vector<std::string> failures(servers.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const auto turns = static_cast<std::int64_t>(servers.size()) * (kRounds - round) -
                         static_cast<std::int64_t>(i);
      const milliseconds now = monotonic_now();
      const Heard heard = ask(servers[i], name, now + (end - now) / turns);
      if (heard.answer && decides(*heard.answer)) {
        return heard.answer->records;
      }
      failures[i] = heard.failure;
    }
  }
  std::string evidence = name + (servers.empty() ? ": no name server is known" : "");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    evidence += (i == 0 ? ": " : ", ") + servers[i].text + ": " + failures[i];
  }
  return failure(protocol::ErrorCode::Unreachable, evidence);
}

}  // namespace gcoord::client
