// SIGTERM and SIGINT while a node starts: the process ends at once, with exit code 0 and a line on
// stderr. Once it serves, the node itself watches its signals.
//
// The signals, SIGHUP too, are blocked in every thread that starts meanwhile, so that none can kill
// the process; those that come late wait for the node. A start that is cut off leaves the data
// directory as a kill does, which every start can recover from. One object at a time, of the main
// thread.
#pragma once

#include <functional>
#include <thread>

namespace gcoord {

class StartSignals {
 public:
  // `before_end` is called by another thread before the process ends.
  explicit StartSignals(std::function<void()> before_end);

  // Lets no signal through: those that came stay pending.
  ~StartSignals();

  StartSignals(const StartSignals&) = delete;
  StartSignals& operator=(const StartSignals&) = delete;

  // Stops watching and lets the signals through, to handlers that are set.
  void hand_over();

 private:
  void stop();
  void watch();

  std::function<void()> before_end_;
  int stop_fd_ = -1;
  std::thread thread_;
};

}  // namespace gcoord
