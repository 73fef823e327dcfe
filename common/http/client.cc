#include "common/http/client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace gcoord {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeadBytesMax = 8192;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

Status unavailable(const std::string& why) {
  return Status{StatusCode::Unavailable, why};
}

Status no_http() {
  return Status{StatusCode::DataLoss, "what came back is not HTTP"};
}

// All of the text must be the number.
template <typename Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::string lower(std::string_view text) {
  std::string low{text};
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return low;
}

struct Head {
  int status = 0;
  std::size_t bytes = 0;  // With the empty line.
  std::optional<std::size_t> length;
  bool chunked = false;
  bool closes = false;
};

// The value of a header, of a head in lower case; empty when it is absent.
std::string_view header_of(std::string_view head, const std::string& name) {
  const std::string line = "\r\n" + name + ":";
  const std::size_t at = head.find(line);
  if (at == head.npos) {
    return {};
  }
  std::string_view value = head.substr(at + line.size());
  value = value.substr(0, value.find("\r\n"));
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

// "HTTP/1.1 200 OK", headers, an empty line. Nothing while it is not whole, or is no such thing.
std::optional<Head> parse_head(const std::string& bytes) {
  const std::size_t end = bytes.find(kHeadEnd);
  if (!bytes.starts_with("HTTP/1.") || end == bytes.npos || end > kHeadBytesMax || end < 12) {
    return std::nullopt;
  }
  const auto status = number_of<int>(std::string_view{bytes}.substr(9, 3));
  if (!status) {
    return std::nullopt;
  }
  const std::string low = lower(std::string_view{bytes}.substr(0, end + 2));
  return Head{.status = *status,
              .bytes = end + kHeadEnd.size(),
              .length = number_of<std::size_t>(header_of(low, "content-length")),
              .chunked = header_of(low, "transfer-encoding") == "chunked",
              .closes = header_of(low, "connection") == "close"};
}

// Chunks joined.
struct Chunks {
  std::string body;
  bool whole = false;
};

Chunks join_chunks(std::string_view raw) {
  Chunks chunks;
  for (;;) {
    const std::size_t line = raw.find("\r\n");
    const std::string_view size = raw.substr(0, line);
    const auto bytes = number_of<std::size_t>(size.substr(0, size.find(';')), 16);
    if (line == raw.npos || !bytes) {
      return chunks;
    }
    if (*bytes == 0) {
      // Nobody sends trailers without having been asked to.
      chunks.whole = raw.substr(line).starts_with(kHeadEnd);
      return chunks;
    }
    raw.remove_prefix(line + 2);
    chunks.body += raw.substr(0, *bytes);
    if (raw.size() < 2 || *bytes > raw.size() - 2) {
      return chunks;
    }
    raw.remove_prefix(*bytes + 2);
  }
}

HttpResponse response_of(const Head& head, const std::string& bytes, std::size_t body_bytes_max) {
  HttpResponse response{
      .status = head.status, .extent = HttpBody::Unsized, .body = bytes.substr(head.bytes)};
  if (head.chunked) {
    Chunks chunks = join_chunks(response.body);
    response.body = std::move(chunks.body);
    response.extent = chunks.whole ? HttpBody::Whole : HttpBody::Cut;
  } else if (head.length) {
    response.extent = *head.length == response.body.size() ? HttpBody::Whole : HttpBody::Cut;
  }
  if (std::max(response.body.size(), head.length.value_or(0)) > body_bytes_max) {
    response.extent = HttpBody::TooLong;
    response.body.resize(std::min(response.body.size(), body_bytes_max));
  }
  return response;
}

// The most that is read of an answer: chunks of some length cost a small part more than their body.
std::size_t bytes_max(const HttpLimits& limits) {
  return kHeadBytesMax + limits.body_bytes_max + limits.body_bytes_max / 8;
}

}  // namespace

// A connection that gives up at a moment.
class HttpClient::Socket {
 public:
  Socket() = default;

  ~Socket() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void give_up_at(Clock::time_point deadline) { deadline_ = deadline; }

  // To the first of the addresses that answers.
  Status connect(const HttpOrigin& origin) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(origin.host.c_str(), origin.port.c_str(), &hints, &found)) {
      return unavailable(origin.host + ": " + gai_strerror(error));
    }
    Status status = unavailable(origin.host + " has no address");
    for (const addrinfo* each = found; each != nullptr && !status.ok(); each = each->ai_next) {
      status = connect(*each);
    }
    freeaddrinfo(found);
    return status.ok() ? status
                       : unavailable(origin.host + ":" + origin.port + ": " + status.message());
  }

  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (!may_wait() || !wait(POLLOUT)) {
        return failed("send");
      }
    }
    return {};
  }

  // Appends what has come; false at the end of the connection.
  Result<bool> receive(std::string& bytes) {
    std::string piece(std::size_t{64} << 10, '\0');
    for (;;) {
      const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
      if (got >= 0) {
        bytes.append(piece, 0, static_cast<std::size_t>(got));
        return got > 0;
      }
      if (!may_wait() || !wait(POLLIN)) {
        return failed("receive");
      }
    }
  }

 private:
  static bool may_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  static Status failed(const std::string& what) {
    return unavailable(what + ": " + std::strerror(errno));
  }

  Status connect(const addrinfo& address) {
    if (socket_ >= 0) {
      ::close(socket_);
    }
    socket_ = ::socket(
        address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
    if (socket_ < 0) {
      return failed("socket");
    }
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, address.ai_addr, address.ai_addrlen) == 0) {
      return {};
    }
    if (errno != EINPROGRESS || !wait(POLLOUT)) {
      return failed("connect");
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0 ? Status{} : failed("connect");
  }

  // False, and errno says why, when the time is over.
  bool wait(short event) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    pollfd waiting{.fd = socket_, .events = event, .revents = 0};
    const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left));
    if (ready == 0) {
      errno = ETIMEDOUT;
    }
    return ready > 0 || (ready < 0 && errno == EINTR);
  }

  Clock::time_point deadline_;
  int socket_ = -1;
};

HttpClient::HttpClient(HttpOrigin origin, Connection connection)
    : origin_(std::move(origin)), connection_(connection) {}

HttpClient::~HttpClient() = default;

std::string HttpClient::head_of(const char* method, const std::string& path) const {
  return method + (" " + path) + " HTTP/1.1\r\nHost: " + origin_.host + ":" + origin_.port +
         (connection_ == Connection::Fresh ? "\r\nConnection: close\r\n" : "\r\n");
}

Result<HttpResponse> HttpClient::get(const std::string& path, const HttpLimits& limits) {
  return exchange(head_of("GET", path) + "\r\n", limits);
}

Result<HttpResponse> HttpClient::post(const std::string& path,
                                      const HttpContent& content,
                                      const HttpLimits& limits) {
  return exchange(head_of("POST", path) + "Content-Type: " + content.type + "\r\nContent-Length: " +
                      std::to_string(content.body.size()) + "\r\n\r\n" + content.body,
                  limits);
}

Result<HttpResponse> HttpClient::exchange(const std::string& request, const HttpLimits& limits) {
  // Out of the member, so that a failure leaves none behind.
  std::unique_ptr<Socket> socket = std::move(socket_);
  const auto deadline = Clock::now() + limits.timeout;
  if (socket == nullptr) {
    socket = std::make_unique<Socket>();
    socket->give_up_at(deadline);
    GCOORD_TRY_STATUS(socket->connect(origin_));
  }
  socket->give_up_at(deadline);
  GCOORD_TRY_STATUS(socket->send(request));

  std::string bytes;
  std::optional<Head> head;
  for (bool more = true; more && bytes.size() <= bytes_max(limits);) {
    GCOORD_TRY(more, socket->receive(bytes));
    head = head ? head : parse_head(bytes);
    if (!head && bytes.size() > kHeadBytesMax + kHeadEnd.size()) {
      return no_http();
    }
    if (!head || connection_ == Connection::Fresh || head->closes) {
      continue;  // The end of the connection is the end of the answer.
    }
    HttpResponse response = response_of(*head, bytes, limits.body_bytes_max);
    if (response.extent == HttpBody::Whole) {
      socket_ = std::move(socket);
      return response;
    }
  }
  return head ? Result<HttpResponse>{response_of(*head, bytes, limits.body_bytes_max)} : no_http();
}

}  // namespace gcoord
