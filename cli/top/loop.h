// The loop of gcoordctl top: rounds of questions, keys and signals, and what is drawn or printed of
// them. Blocks until somebody quits, a signal ends it, or the wanted samples were shown. One
// thread.
#pragma once

#include "cli/terminal/command.h"
#include "cli/terminal/wake_sources.h"
#include "cli/top/columns.h"

#include <chrono>
#include <cstdint>

namespace gcoord::cli::top {

struct LoopOptions {
  std::chrono::milliseconds interval{2000};
  Sorting sorting;
  std::uint64_t count = 0;  // Samples to be shown; 0: no end.
  bool screen = false;      // Draw on the terminal; else print one sample after the other.
};

// The exit code: 0 also when a signal ended the view. A signal that comes before there is one ends
// the process at once, as it does by default. `signals` has SIGINT, SIGTERM, SIGHUP and, for a
// screen, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH, and was made before any thread.
int run_loop(Context& context, const LoopOptions& options, const SignalFd& signals);

}  // namespace gcoord::cli::top
