// The guard: a process between gcoordctl and the command that it runs, which kills all that the
// command started when gcoordctl dies.
//
// It inherits what its descendants leave behind, so that all of them stay in its tree, and it
// watches two things that no death of gcoordctl can leave out: the end of their socket, and the
// kernel's signal (PR_SET_PDEATHSIG). Signals that end programs do not end it. Where its
// cgroup is delegated, the command has one of its own, which is killed whole. One thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gcoord::cli {

// The guard's life, in a process that has just been forked by `parent`, which has the other end of
// the socket. The command is `arguments`.
[[noreturn]] void be_guard(int socket, pid_t parent, const std::vector<std::string>& arguments);

}  // namespace gcoord::cli
