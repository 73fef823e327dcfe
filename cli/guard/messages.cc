#include "cli/guard/messages.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace gcoord::cli {

namespace {

constexpr std::size_t kHeadBytes = 1 + sizeof(std::int32_t);

}  // namespace

bool send_message(int socket, const GuardMessage& message) {
  if (message.text.size() > kGuardTextBytesMax) {
    return false;
  }
  std::string bytes(kHeadBytes, '\0');
  bytes[0] = static_cast<char>(message.word);
  std::memcpy(&bytes[1], &message.number, sizeof(message.number));
  bytes += message.text;
  ssize_t sent = 0;
  while ((sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<GuardMessage> receive_message(int socket) {
  std::vector<char> bytes(kHeadBytes + kGuardTextBytesMax);
  ssize_t count = 0;
  while ((count = ::recv(socket, bytes.data(), bytes.size(), 0)) < 0 && errno == EINTR) {
  }
  if (count < static_cast<ssize_t>(kHeadBytes)) {
    return std::nullopt;
  }
  GuardMessage message{.word = static_cast<GuardWord>(bytes[0])};
  std::memcpy(&message.number, &bytes[1], sizeof(message.number));
  message.text.assign(bytes.data() + kHeadBytes, static_cast<std::size_t>(count) - kHeadBytes);
  return message;
}

}  // namespace gcoord::cli
