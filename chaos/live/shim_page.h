// The nemesis's end of a node's shim: its control block as a file, and what the node is told of it.
// One thread.
#pragma once

#include "chaos/live/power_loss.h"
#include "chaos/live/shim/shim_control.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class ShimPage {
 public:
  // Makes DIRECTORY/NAME.control and DIRECTORY/NAME.undo for the disk DIRECTORY/NAME.
  static Result<std::unique_ptr<ShimPage>> make(const std::filesystem::path& directory,
                                                const std::string& name);
  ~ShimPage();
  ShimPage(const ShimPage&) = delete;
  ShimPage& operator=(const ShimPage&) = delete;

  ShimControl& control() { return *control_; }

  // From now on the node's clock runs at this rate, without a jump. 1,000,000 is true.
  void set_rate(std::uint32_t millionths);

  // No fault of disk or clock; the clock goes on from what it shows, so that it never goes back.
  void heal();

  // What the next life of the node needs in its environment; `library` is the shim.
  std::vector<std::pair<std::string, std::string>> environment(
      const std::filesystem::path& library) const;

  // The power is gone; the node is not running.
  Result<PowerLoss> lose_power(std::uint64_t seed) const;

  const std::filesystem::path& disk() const { return disk_; }

  const std::filesystem::path& undo() const { return undo_; }

 private:
  ShimPage(ShimControl* control, std::filesystem::path file, std::filesystem::path disk);

  ShimControl* control_;
  std::filesystem::path file_;
  std::filesystem::path disk_;
  std::filesystem::path undo_;
};

}  // namespace gcoord::chaos
