#include "chaos/fencing/http_post.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace gcoord::chaos {

namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 20;

Status unavailable(const std::string& what) {
  return Status{StatusCode::Unavailable, what};
}

// The value of a header, in lower case; empty when it is absent.
std::string header_of(const std::string& head, const std::string& name) {
  std::string low = head;
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  const std::size_t at = low.find("\r\n" + name + ":");
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t from = low.find_first_not_of(' ', at + name.size() + 3);
  return low.substr(from, low.find("\r\n", from) - from);
}

std::size_t number_of(const std::string& text, int base) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// Chunks joined; empty while the last one is missing.
std::string join_chunks(const std::string& body) {
  std::string joined;
  for (std::size_t at = 0;;) {
    const std::size_t line = body.find("\r\n", at);
    if (line == std::string::npos) {
      return {};
    }
    const std::size_t bytes = number_of(body.substr(at, line - at), 16);
    if (bytes == 0) {
      return joined;
    }
    joined += body.substr(line + 2, bytes);
    at = line + 2 + bytes + 2;
    if (at > body.size()) {
      return {};
    }
  }
}

}  // namespace

HttpPost::~HttpPost() {
  disconnect();
}

void HttpPost::disconnect() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

Status HttpPost::connect(std::chrono::milliseconds timeout) {
  if (fd_ < 0) {
    const std::size_t colon = endpoint_.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port =
        htons(static_cast<std::uint16_t>(number_of(endpoint_.substr(colon + 1), 10)));
    ::inet_pton(AF_INET, endpoint_.substr(0, colon).c_str(), &address.sin_addr);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (fd_ < 0 ||
        ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      disconnect();
      return unavailable("nobody listens at " + endpoint_);
    }
  }
  const timeval bound{timeout.count() / 1000, (timeout.count() % 1000) * 1000};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));
  return Status{};
}

// The body of the answer.
Result<std::string> HttpPost::exchange(const std::string& request) {
  if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return unavailable("the request could not be sent");
  }
  std::string answer;
  char part[8192];
  while (answer.size() < kAnswerBytesMax) {
    const ssize_t count = ::recv(fd_, part, sizeof(part), 0);
    if (count <= 0) {
      break;
    }
    answer.append(part, static_cast<std::size_t>(count));
    const std::size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) {
      continue;
    }
    const std::string head = answer.substr(0, end + 2);
    const std::string body = answer.substr(end + 4);
    if (header_of(head, "transfer-encoding") == "chunked") {
      const std::string joined = join_chunks(body);
      if (!joined.empty()) {
        return joined;
      }
    } else if (body.size() >= number_of(header_of(head, "content-length"), 10)) {
      return body;
    }
  }
  return unavailable("no whole answer came from " + endpoint_);
}

Result<nlohmann::json> HttpPost::post(const std::string& path,
                                      const nlohmann::json& body,
                                      std::chrono::milliseconds timeout) {
  GCOORD_TRY_STATUS(connect(timeout));
  const std::string text = body.dump();
  auto answered = exchange("POST " + path + " HTTP/1.1\r\nHost: " + endpoint_ +
                           "\r\nContent-Type: application/json\r\nContent-Length: " +
                           std::to_string(text.size()) + "\r\n\r\n" + text);
  if (!answered.ok()) {
    disconnect();
    return answered.status();
  }
  nlohmann::json parsed = nlohmann::json::parse(answered.value(), nullptr, false);
  if (!parsed.is_object()) {
    disconnect();
    return unavailable("what came from " + endpoint_ + " is not JSON");
  }
  if (parsed.contains("error")) {
    return Status{StatusCode::Aborted, parsed["error"].dump()};
  }
  return parsed;
}

std::string to_base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    const std::size_t digits = std::min<std::size_t>(bytes.size() - at, 3) + 1;
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i < digits ? kDigits[word >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

}  // namespace gcoord::chaos
