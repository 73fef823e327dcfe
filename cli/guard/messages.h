// Messages between gcoordctl and the guard of its command, over a socket that keeps them apart.
// Both sides are one program, so nothing here is kept compatible. Each end is used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

enum class GuardWord : std::uint8_t {
  // To the guard.
  Start,   // number: 1 to put it in the terminal's foreground. text: variables, NAME=VALUE\0 each.
  Signal,  // number: the signal, for the command's group.
  Kill,    // Every descendant. Answered by Ended.
  Leave,   // The command has ended; what it left running is nobody's concern.
  // From the guard.
  Started,    // number: the process id.
  Unstarted,  // number: a StatusCode. text: why.
  Stopped,    // As by Ctrl-Z.
  Ended,      // number: the exit status as a shell says it.
};

struct GuardMessage {
  GuardWord word{};
  std::int32_t number = 0;
  std::string text{};
};

// The most text of one message: less than a socket takes by default (net.core.wmem_default is
// 212,992 bytes), and more than the variables of 64 locks need.
inline constexpr std::size_t kGuardTextBytesMax = 128 * 1024;

// False when it cannot be sent: it is too long, or nobody is there.
bool send_message(int socket, const GuardMessage& message);

// Waits for the next message, at most until the socket's end; nothing when the other side is gone.
std::optional<GuardMessage> receive_message(int socket);

}  // namespace gcoord::cli
