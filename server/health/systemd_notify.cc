#include "server/health/systemd_notify.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace gcoord::server {
namespace {

// 0 where it is no number.
std::uint64_t number(const std::optional<std::string>& text) {
  std::uint64_t value = 0;
  if (text.has_value()) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size()) {
      return 0;
    }
  }
  return value;
}

// A line of its own in the notice, whatever it is made of.
std::string status_line(std::string_view status) {
  std::string line = "STATUS=" + std::string(status);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

}  // namespace

SystemdNotify::SystemdNotify(const Environment& environment) {
  open(environment("NOTIFY_SOCKET").value_or(""));
  const auto pid = environment("WATCHDOG_PID");
  const bool for_us = !pid.has_value() || number(pid) == static_cast<std::uint64_t>(::getpid());
  interval_us_ = active() && for_us ? number(environment("WATCHDOG_USEC")) / 2 : 0;
}

SystemdNotify::~SystemdNotify() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

void SystemdNotify::ready(std::string_view status) {
  send("READY=1\n" + status_line(status));
}

void SystemdNotify::stopping(std::string_view status) {
  send("STOPPING=1\n" + status_line(status));
}

void SystemdNotify::status(std::string_view status) {
  send(status_line(status));
}

void SystemdNotify::on_turn(std::uint64_t now_us) {
  if (interval_us_ > 0 && now_us >= next_us_) {
    next_us_ = now_us + interval_us_;
    send("WATCHDOG=1");
  }
}

std::uint64_t SystemdNotify::until_next_ms(std::uint64_t now_us, std::uint64_t at_most) const {
  if (interval_us_ == 0) {
    return at_most;
  }
  return std::min(at_most, (next_us_ - std::min(next_us_, now_us) + 999) / 1000);
}

std::optional<std::string> SystemdNotify::own_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void SystemdNotify::open(const std::string& path) {
  const bool usable = path.size() > 1 && path.size() < sizeof address_.sun_path &&
                      (path.front() == '/' || path.front() == '@');
  if (!usable) {
    return;
  }
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, path.data(), path.size());
  if (path.front() == '@') {
    address_.sun_path[0] = '\0';  // The abstract space has no closing zero either.
  }
  address_size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void SystemdNotify::send(const std::string& notice) {
  if (socket_ >= 0) {
    static_cast<void>(::sendto(socket_,
                               notice.data(),
                               notice.size(),
                               MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&address_),
                               address_size_));
  }
}

}  // namespace gcoord::server
