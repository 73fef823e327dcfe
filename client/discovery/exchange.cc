#include "client/discovery/exchange.h"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

// Of one server; a flood of others' answers is not read for ever.
constexpr int kDatagramsMax = 64;

constexpr std::size_t kLengthBytes = 2;  // Before each message of a stream.

Heard nothing(std::string why) {
  return {.answer = {}, .failure = std::move(why)};
}

Heard failed(int error) {
  return nothing(std::strerror(error));
}

bool try_again(int error) {
  return error == EAGAIN || error == EINTR;
}

// A connected socket: the kernel drops what comes from others. Nothing of it blocks but wait(),
// until the question's moment.
class Socket {
 public:
  Socket(const Question& question, int type) : until_(question.until) {
    const NameServer& server = question.server;
    socket_ = ::socket(server.address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const auto* address = reinterpret_cast<const sockaddr*>(&server.address);
    const bool connected = socket_ >= 0 && ::connect(socket_, address, server.bytes) == 0;
    error_ = connected || errno == EINPROGRESS ? 0 : errno;
  }

  ~Socket() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Of socket() or connect(); 0 when there was none so far.
  int error() const { return error_; }

  bool wait(short events) const {
    const auto left = (until_ - monotonic_now()).count();
    pollfd waiting{.fd = socket_, .events = events, .revents = 0};
    const int ready = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
    return ready > 0 || (ready < 0 && errno == EINTR);
  }

  ssize_t send(std::span<const std::byte> bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  ssize_t receive(std::span<std::byte> bytes) const {
    return ::recv(socket_, bytes.data(), bytes.size(), 0);
  }

  // All of it, in pieces as they come: each() is send() or receive(). 0, or the error: ETIMEDOUT at
  // the moment, ECONNRESET where the other side has ended it.
  template <typename Byte, typename Each>
  int all(std::span<Byte> bytes, short events, const Each& each) const {
    while (!bytes.empty()) {
      if (!wait(events)) {
        return ETIMEDOUT;
      }
      const ssize_t moved = each(bytes);
      if (moved == 0) {
        return ECONNRESET;
      }
      if (moved < 0 && !try_again(errno)) {
        return errno;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(moved, 0)));
    }
    return 0;
  }

  int send_all(std::span<const std::byte> bytes) const {
    return all(bytes, POLLOUT, [this](auto part) { return send(part); });
  }

  int receive_all(std::span<std::byte> bytes) const {
    return all(bytes, POLLIN, [this](auto part) { return receive(part); });
  }

 private:
  const milliseconds until_;
  int socket_ = -1;
  int error_ = 0;
};

std::optional<std::uint16_t> random_id() {
  std::uint16_t id = 0;
  return ::getrandom(&id, sizeof id, 0) == sizeof id ? std::optional{id} : std::nullopt;
}

}  // namespace

Heard ask_by_datagram(const Question& question) {
  const Socket socket(question, SOCK_DGRAM);
  const auto id = random_id();
  if (socket.error() != 0 || !id) {
    return failed(socket.error() != 0 ? socket.error() : errno);
  }
  if (socket.send(encode_srv_query(*id, question.name, question.extension)) < 0) {
    return failed(errno);
  }
  // One byte more than an answer has, so that one that was cut is not taken for whole.
  std::array<std::byte, kMessageBytesMax + 1> bytes{};
  int dropped = 0;
  while (dropped < kDatagramsMax && socket.wait(POLLIN)) {
    const ssize_t got = socket.receive(bytes);
    if (got < 0 && !try_again(errno)) {
      return failed(errno);
    }
    const auto count = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    auto answer = count <= kMessageBytesMax
                      ? decode_srv_answer(std::span{bytes}.first(count), *id, question.name)
                      : std::nullopt;
    if (answer) {
      return {.answer = std::move(answer), .failure = {}};
    }
    dropped += got >= 0 ? 1 : 0;
  }
  return nothing(dropped == 0 ? "no answer"
                              : std::to_string(dropped) + " messages that are no answer");
}

Heard ask_by_stream(const Question& question) {
  const Socket socket(question, SOCK_STREAM);
  const auto id = random_id();
  if (socket.error() != 0 || !id) {
    return failed(socket.error() != 0 ? socket.error() : errno);
  }
  const auto put_length = [](std::size_t bytes) {
    return std::array{static_cast<std::byte>(bytes >> 8), static_cast<std::byte>(bytes & 0xff)};
  };
  auto query = encode_srv_query(*id, question.name, question.extension);
  const auto length = put_length(query.size());
  query.insert(query.begin(), length.begin(), length.end());
  std::array<std::byte, kLengthBytes> answer_length{};
  int error = socket.send_all(query);
  error = error != 0 ? error : socket.receive_all(answer_length);
  std::vector<std::byte> bytes(std::to_integer<std::size_t>(answer_length[0]) << 8 |
                               std::to_integer<std::size_t>(answer_length[1]));
  error = error != 0 ? error : socket.receive_all(bytes);
  if (error != 0) {
    return failed(error);
  }
  auto answer = decode_srv_answer(bytes, *id, question.name);
  return answer ? Heard{.answer = std::move(answer), .failure = {}}
                : nothing("a message that is no answer");
}

}  // namespace gcoord::client
