// Tasks in processes of their own: an assertion that fails, a crash or an endless loop in one of
// them is its result, and nothing else is harmed. Each answers with a text. Blocking; for programs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::chaos {

struct ApartResult {
  std::string text;   // What the task returned, if it ended as it should.
  std::string death;  // Otherwise, how it ended; empty if it did.
};

// Keeps up to `jobs` tasks under way, and tells of each as it ends.
class Apart {
 public:
  using Task = std::function<std::string()>;
  using OnEnd = std::function<void(const ApartResult&)>;

  Apart(std::uint32_t jobs, unsigned seconds_max) : jobs_(jobs), seconds_max_(seconds_max) {}

  bool has_room() const { return under_way_.size() < jobs_; }

  bool idle() const { return under_way_.empty(); }

  // Begins a task at once, room or not.
  void begin(const Task& task, OnEnd on_end);

  // Waits until at least one process has said something; tells of those that ended.
  void wait();

 private:
  struct Process {
    pid_t id = 0;
    int pipe = -1;
    std::string text;
    OnEnd on_end;
  };

  std::uint32_t jobs_;
  unsigned seconds_max_;
  std::vector<Process> under_way_;
};

// One task, waited for.
ApartResult run_one_apart(const Apart::Task& task, unsigned seconds_max);

}  // namespace gcoord::chaos
