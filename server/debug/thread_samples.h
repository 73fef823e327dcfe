// Samples of the threads of a process: their time on processors, their states, and the functions of
// the kernel in which they wait.
//
// Source: stat, schedstat and wchan below task/ of proc(5), read a few times a second. It needs no
// signal, no library and no right, and costs a few files per thread and look. What a kernel does
// not tell is absent. Pure apart from read_tasks(); one thread.
#pragma once

#include "common/json/value.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// One thread at one look.
struct TaskFacts {
  std::uint64_t id = 0;
  std::string name;
  char state = '?';  // As in proc(5): R runs or is about to, S waits, D waits for a disk.
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::optional<std::uint64_t> queued_ns;  // Ready to run, while no processor was free.
  std::string wait;  // The kernel's function in which it waits; empty: none, or not told.
};

// The fields of task/ID/stat; nothing when the text is none.
std::optional<TaskFacts> parse_task_stat(std::string_view text);

// The threads of the process at `proc`, at most 1024; those that end meanwhile are left out.
std::vector<TaskFacts> read_tasks(const std::filesystem::path& proc = "/proc/self");

class ThreadSamples {
 public:
  explicit ThreadSamples(std::uint64_t ticks_per_second) : ticks_per_second_(ticks_per_second) {}

  void add(const std::vector<TaskFacts>& tasks);

  // {"looks", "threads": [{"id", "name", "user_seconds", "system_seconds", "queued_seconds",
  // "states": {"S": looks}, "waits": {"ep_poll": looks}}]}, the busiest first. Seconds are those
  // between the first look at a thread and the last.
  Json json() const;

 private:
  struct Thread {
    TaskFacts first;
    TaskFacts last;
    std::map<std::string, std::uint32_t> states;
    std::map<std::string, std::uint32_t> waits;

    std::uint64_t ticks() const;
  };

  Json thread_json(const Thread& thread) const;

  std::uint64_t ticks_per_second_;
  std::uint32_t looks_ = 0;
  std::map<std::uint64_t, Thread> threads_;
};

}  // namespace gcoord::server
