// A cgroup (version 2) for the command and all that it starts, which the kernel kills whole.
//
// Only below a cgroup that is delegated: systemd says so by an extended attribute, user.delegate or
// trusted.delegate, and leaves what is below to the unit (Delegate=yes). Elsewhere nothing is made.
// Linux 5.14 or later (cgroup.kill). One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

namespace gcoord::cli {

class CommandCgroup {
 public:
  // One below the cgroup of this process; nothing where that is not delegated or cannot be done.
  static std::optional<CommandCgroup> make();

  // Removes it. One in which something goes on stays, empty or not, with its unit.
  ~CommandCgroup();
  CommandCgroup(CommandCgroup&& other) noexcept;
  CommandCgroup& operator=(CommandCgroup&& other) noexcept;

  // This process goes in, so that what it starts begins there, or back to where it was. Whether it
  // could.
  bool enter() const;
  bool leave() const;

  // Kills all that is in it at once, and does not wait for their ends.
  void kill() const;

 private:
  CommandCgroup(std::filesystem::path outer, std::filesystem::path own)
      : outer_(std::move(outer)), own_(std::move(own)) {}

  std::filesystem::path outer_;
  std::filesystem::path own_;  // Empty when it was moved from.
};

}  // namespace gcoord::cli
