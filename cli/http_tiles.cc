#include "cli/http_tiles.h"

#include "ledger/error_details.h"
#include "rpc/error_codes.h"

#include <netdb.h>
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

namespace gcoord::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kScheme = "http://";
constexpr std::size_t kHeadBytesMax = 8192;

Status unreachable(const std::string& why) {
  return Status{StatusCode::Unavailable, why, ledger::kLedgerUnreachable};
}

// A connection that gives up at a moment.
class TimedSocket {
 public:
  explicit TimedSocket(Clock::time_point deadline) : deadline_(deadline) {}

  ~TimedSocket() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }

  TimedSocket(const TimedSocket&) = delete;
  TimedSocket& operator=(const TimedSocket&) = delete;

  // To the first of the addresses that answers.
  Status connect(const HttpPlace& place) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found)) {
      return unreachable(place.host + ": " + gai_strerror(error));
    }
    Status status = unreachable(place.host + " has no address");
    for (const addrinfo* each = found; each != nullptr && !status.ok(); each = each->ai_next) {
      status = connect(*each);
    }
    freeaddrinfo(found);
    return status.ok() ? status
                       : unreachable(place.host + ":" + place.port + ": " + status.message());
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

  // Up to the end, or to `bytes_max` bytes and one more.
  Result<std::string> receive(std::size_t bytes_max) {
    std::string bytes;
    std::string piece(std::size_t{64} << 10, '\0');
    while (bytes.size() <= bytes_max) {
      const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
      if (got == 0) {
        break;
      }
      if (got > 0) {
        bytes.append(piece, 0, static_cast<std::size_t>(got));
      } else if (!may_wait() || !wait(POLLIN)) {
        return failed("receive");
      }
    }
    return bytes;
  }

 private:
  static bool may_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  static Status failed(const std::string& what) {
    return unreachable(what + ": " + std::strerror(errno));
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

struct Answer {
  int status = 0;
  std::optional<std::size_t> length;
  std::string body;
};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
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

// "HTTP/1.1 200 OK", headers, an empty line, the body.
std::optional<Answer> parse_answer(const std::string& bytes) {
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.") || head_end == bytes.npos || head_end > kHeadBytesMax ||
      head_end < 12) {
    return std::nullopt;
  }
  const auto status = number_of<int>(std::string_view{bytes}.substr(9, 3));
  if (!status) {
    return std::nullopt;
  }
  Answer answer{.status = *status, .length = {}, .body = bytes.substr(head_end + 4)};
  const std::string head = lower(std::string_view{bytes}.substr(0, head_end + 2));
  constexpr std::string_view kLength = "\r\ncontent-length:";
  if (const std::size_t at = head.find(kLength); at != head.npos) {
    std::string_view value = std::string_view{head}.substr(at + kLength.size());
    value = value.substr(0, value.find("\r\n"));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    answer.length = number_of<std::size_t>(value);
  }
  return answer;
}

Status refusal(const Answer& answer, const std::string& path) {
  const std::string what =
      path + ": HTTP " + std::to_string(answer.status) + " " +
      answer.body.substr(0, std::min<std::size_t>(answer.body.find('\n'), 200));
  switch (answer.status) {
    case 404:
      return Status{StatusCode::NotFound, what, ledger::kLedgerAbsent};
    case 410:
      return Status{StatusCode::OutOfRange, what, ledger::kLedgerPruned};
    case 501:
      return rpc::make_error(rpc::ErrorCode::LedgerUnpublished, what);
    default:
      return unreachable(what);
  }
}

}  // namespace

Result<HttpPlace> parse_http_place(const std::string& url) {
  const auto refuse = [&] {
    return rpc::make_error(rpc::ErrorCode::OptionInvalid, "'" + url + "' is not http://HOST:PORT");
  };
  if (!url.starts_with(kScheme)) {
    return refuse();
  }
  const std::string rest = url.substr(kScheme.size());
  const std::string authority = rest.substr(0, rest.find('/'));
  const std::size_t colon = authority.rfind(':');
  if (colon == authority.npos || colon == 0 ||
      !number_of<std::uint16_t>(std::string_view{authority}.substr(colon + 1))) {
    return refuse();
  }
  HttpPlace place{.host = authority.substr(0, colon),
                  .port = authority.substr(colon + 1),
                  .prefix = rest.substr(authority.size())};
  if (place.host.starts_with('[') && place.host.ends_with(']')) {
    place.host = place.host.substr(1, place.host.size() - 2);
  }
  while (place.prefix.ends_with('/')) {
    place.prefix.pop_back();
  }
  return place;
}

Result<std::vector<std::byte>> HttpTiles::read(const std::string& path,
                                               std::size_t bytes_max) const {
  TimedSocket socket(Clock::now() + timeout_);
  GCOORD_TRY_STATUS(socket.connect(place_));
  GCOORD_TRY_STATUS(socket.send("GET " + place_.prefix + "/" + path + " HTTP/1.1\r\nHost: " +
                                place_.host + ":" + place_.port + "\r\nConnection: close\r\n\r\n"));
  GCOORD_TRY(const std::string bytes, socket.receive(kHeadBytesMax + bytes_max));
  const auto answer = parse_answer(bytes);
  if (!answer) {
    return unreachable(path + ": what came back is not HTTP");
  }
  if (answer->status != 200) {
    return refusal(*answer, path);
  }
  if (answer->body.size() > bytes_max || answer->length.value_or(0) > bytes_max) {
    return Status{StatusCode::DataLoss,
                  path + ": more than " + std::to_string(bytes_max) + " bytes",
                  ledger::kLedgerOversized};
  }
  if (answer->length != answer->body.size()) {
    return unreachable(path + ": the answer was cut");
  }
  const auto body = std::as_bytes(std::span(answer->body));
  return std::vector<std::byte>(body.begin(), body.end());
}

}  // namespace gcoord::cli
