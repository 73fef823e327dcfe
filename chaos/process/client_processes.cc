#include "chaos/process/client_processes.h"

namespace gcoord::chaos {

Status ClientProcesses::start(std::vector<std::string> arguments) {
  ChildOptions child;
  child.arguments = std::move(arguments);
  child.capture_output = true;
  child.error_file = log_.string();
  child.group = true;
  GCOORD_TRY(auto process, ChildProcess::start(child));
  each_.push_back(std::move(process));
  return Status{};
}

Status ClientProcesses::await_ready(std::chrono::milliseconds timeout) {
  for (ChildProcess& process : each_) {
    if (process.read_line(timeout) != "ready") {
      return Status{StatusCode::Unavailable,
                    "a client process did not start; see " + log_.filename().string()};
    }
  }
  return Status{};
}

Status ClientProcesses::await_ends(std::chrono::milliseconds timeout) {
  for (ChildProcess& process : each_) {
    const auto status = process.wait_for(timeout);
    if (status != 0) {
      return Status{StatusCode::Aborted,
                    "a client process ended with " +
                        (status.has_value() ? std::to_string(*status) : "no end in sight") +
                        "; see " + log_.filename().string()};
    }
  }
  return Status{};
}

}  // namespace gcoord::chaos
