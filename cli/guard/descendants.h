// The descendants of this process, and their end. Linux; one thread.
//
// A process that is a subreaper (prctl) inherits what its descendants leave behind, so that no
// setsid and no second fork takes a process out of its tree. /proc shows the tree.
#pragma once

#include <sys/types.h>

#include <vector>

namespace gcoord::cli {

// A process of /proc. The number may be another process's by the time it is used, the moment of its
// start with it is not.
struct SeenProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  bool ended = false;            // A zombie, which its parent has yet to reap.
  unsigned long long begun = 0;  // Clock ticks after the machine's start.
};

// All of a process's descendants that have not ended, parents before their children.
std::vector<SeenProcess> living_descendants(pid_t ancestor);

// Makes this process the one that inherits what its descendants leave behind.
void inherit_orphans();

// Reaps children that have ended, apart from `spared`. Does not wait.
void reap_orphans(pid_t spared);

// Kills every descendant of this process, those that are born meanwhile too, and reaps them;
// returns when there is none. What sleeps in the kernel is waited for, and so is what this process
// may not kill. Needs inherit_orphans().
void kill_descendants();

}  // namespace gcoord::cli
