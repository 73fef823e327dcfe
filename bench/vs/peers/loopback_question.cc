#include "bench/vs/peers/loopback_question.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace gcoord::bench {

namespace {

constexpr std::size_t kAnswerMax = 4096;
constexpr std::chrono::milliseconds kAgain{50};

}  // namespace

std::string ask_loopback(std::uint16_t port, const LoopbackQuestion& question) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return {};
  }
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, question.text.data(), question.text.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 1024> part{};
    while (answer.size() < kAnswerMax && answer.find(question.wanted) == std::string::npos) {
      const auto bytes = ::recv(socket, part.data(), part.size(), 0);
      if (bytes <= 0) {
        break;
      }
      answer.append(part.data(), static_cast<std::size_t>(bytes));
    }
  }
  ::close(socket);
  return answer;
}

Status await_answer(std::uint16_t port,
                    const LoopbackQuestion& question,
                    std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    if (ask_loopback(port, question).find(question.wanted) != std::string::npos) {
      return Status{};
    }
    std::this_thread::sleep_for(kAgain);
  }
  return Status{StatusCode::DeadlineExceeded,
                "the server on port " + std::to_string(port) + " does not answer"};
}

}  // namespace gcoord::bench
