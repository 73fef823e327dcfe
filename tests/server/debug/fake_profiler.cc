// A profiler that only looks like gperftools': it writes one word at the start and one at the end,
// and tells whether it runs.
#include <atomic>
#include <fstream>
#include <string>

namespace {

std::atomic<bool> running{false};
std::string path;

}  // namespace

extern "C" int ProfilerStart(const char* file) {
  if (running.exchange(true)) {
    return 0;
  }
  path = file;
  std::ofstream(path) << "begun ";
  return 1;
}

extern "C" void ProfilerStop() {
  std::ofstream(path, std::ios::app) << "ended";
  running.store(false);
}

extern "C" bool fake_profiler_runs() {
  return running.load();
}
