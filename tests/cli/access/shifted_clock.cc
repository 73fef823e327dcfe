// Preloaded into a node (LD_PRELOAD): its clock of the world, and no other, is ahead of that of the
// machine by SHIFTED_CLOCK_S seconds. So a test lives through days, and nodes disagree about the
// time.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t ahead_s() {
  static const char* const text = std::getenv("SHIFTED_CLOCK_S");
  static const time_t seconds = text == nullptr ? 0 : std::atol(text);
  return seconds;
}

}  // namespace

// The system's own function may be the one that calls this one, so the kernel is asked.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += ahead_s();
  }
  return result;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) {
    *out = now.tv_sec;
  }
  return now.tv_sec;
}
