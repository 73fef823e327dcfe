// The client processes of a run: started, awaited and ended alike.
//
// A client prints "ready" once it may be relied on, and ends with 0 if all went well; what it has
// to say goes to a log that all of them share. It gets no signal of the terminal's, and does not
// outlive this object. One thread.
#pragma once

#include "common/host/child_process.h"
#include "common/status.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class ClientProcesses {
 public:
  explicit ClientProcesses(std::filesystem::path log) : log_(std::move(log)) {}

  // `arguments` begins with the program.
  Status start(std::vector<std::string> arguments);

  // Unavailable: one of them did not say that it is ready.
  Status await_ready(std::chrono::milliseconds timeout);

  // Aborted: one of them ended with another code than 0, or not within `timeout`.
  Status await_ends(std::chrono::milliseconds timeout);

  std::vector<ChildProcess>& each() { return each_; }

 private:
  std::filesystem::path log_;
  std::vector<ChildProcess> each_;
};

}  // namespace gcoord::chaos
