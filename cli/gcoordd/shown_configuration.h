// The configuration that a running node shows on its page /debug/config: the options in effect
// without secrets, with the directory and the ports that the system chose. Thread-safe.
#pragma once

#include "server/options/options.h"

#include <mutex>
#include <string>

namespace gcoord {

class ShownConfiguration {
 public:
  // `found` has the directory and the addresses, of which the command line may have left some open.
  void show(server::Invocation running, const server::NodeOptions& found);

  // TOML; empty before the first show().
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::string text_;  // Under mutex_.
};

}  // namespace gcoord
