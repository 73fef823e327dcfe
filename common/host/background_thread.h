// Threads whose work nobody waits for: checkpoints, history, and the merging of what those wrote.
//
// They yield to those that serve requests: where processors are short, the scheduler gives a
// background thread a share of one to three beside a thread of the usual weight (sched(7), nice
// levels), and everything that is left over otherwise. No less, since what they have not done yet
// is kept in memory and in the log of record. Linux alone has a nice level for each thread;
// elsewhere nothing happens.
#pragma once

namespace gcoord {

// Makes the calling thread one of them; it cannot become another one again. Refused by the system,
// it stays as it is: nothing but the share of processors depends on it.
void make_background_thread();

}  // namespace gcoord
