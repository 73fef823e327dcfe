// Notices to the service manager that started the process (sd_notify(3)), and its watchdog.
//
// Where NOTIFY_SOCKET names no socket every call does nothing, so that a node runs the same with
// and without systemd. A notice is one datagram and never waits: one that cannot be sent is lost,
// and the manager judges by the next. One thread, which is the node's loop: a watchdog that another
// thread keeps quiet would watch nothing.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::server {

class SystemdNotify {
 public:
  using Environment = std::function<std::optional<std::string>(const char* name)>;

  // Reads NOTIFY_SOCKET (a path, or "@name" in the abstract space), WATCHDOG_USEC and WATCHDOG_PID.
  // What cannot be used counts as absent.
  explicit SystemdNotify(const Environment& environment = own_environment);
  ~SystemdNotify();
  SystemdNotify(const SystemdNotify&) = delete;
  SystemdNotify& operator=(const SystemdNotify&) = delete;

  bool active() const { return socket_ >= 0; }

  // READY=1 and STOPPING=1; `status` is a line that `systemctl status` shows.
  void ready(std::string_view status);
  void stopping(std::string_view status);

  // The line alone.
  void status(std::string_view status);

  // Once per pass of the loop: WATCHDOG=1 whenever half of the manager's interval has passed.
  // `now_us` only grows.
  void on_turn(std::uint64_t now_us);

  // How long the loop may sleep until the next on_turn(); `at_most` without a watchdog.
  std::uint64_t until_next_ms(std::uint64_t now_us, std::uint64_t at_most) const;

  static std::optional<std::string> own_environment(const char* name);

 private:
  void open(const std::string& path);
  void send(const std::string& notice);

  int socket_ = -1;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
  std::uint64_t interval_us_ = 0;  // Half of the manager's; 0: it keeps no watch.
  std::uint64_t next_us_ = 0;
};

}  // namespace gcoord::server
