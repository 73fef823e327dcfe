// A stop of one thread of a process while its other threads go on, by ptrace(2).
//
// The caller becomes the thread's tracer: it needs no right but that the process is its child (and
// that the system lets a process trace its children). The thread stands still wherever it is,
// with all locks that it holds, and goes on where it stopped; nothing in the process notices. A
// process whose thread is stopped cannot be reaped before its tracer took note of the thread's end:
// poll ended() while waiting for the process, after a kill, too. All calls from the one thread that
// made the object. Linux.
#pragma once

#include "common/status.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace gcoord::chaos {

// Why threads cannot be stopped here, in a few words; empty: they can. Tried once, on a child.
const std::string& thread_stop_obstacle();

// The threads of a process, but for its first, whose names begin with `prefix`; by rising id.
std::vector<pid_t> threads_named(pid_t process, const std::string& prefix);

class ThreadStop {
 public:
  // Returns when the thread stands still. NotFound: it has ended. Not the first thread of a
  // process, whose end the tracer could not tell from the process's.
  static Result<ThreadStop> begin(pid_t thread);

  // The thread goes on, if it is still stopped.
  ~ThreadStop();
  ThreadStop(ThreadStop&& other) noexcept;
  ThreadStop& operator=(ThreadStop&&) = delete;

  // The thread goes on.
  void end();

  // Whether the thread has ended, as by the end of its process.
  bool ended();

 private:
  explicit ThreadStop(pid_t thread) : thread_(thread) {}

  pid_t thread_ = 0;  // 0: it goes on, or ended.
  int signal_ = 0;    // That came as it stopped, to be delivered when it goes on; 0: none.
  bool ended_ = false;
};

}  // namespace gcoord::chaos
