#include "common/host/short_mutex.h"

#include <cstdint>

namespace gcoord {
namespace {

// Some ten nanoseconds each: longer in all than what is done under such a lock.
constexpr std::uint32_t kLooks = 200;

// A short rest of the processor.
void rest() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void ShortMutex::lock() {
  for (std::uint32_t look = 0; look < kLooks; ++look) {
    if (mutex_.try_lock()) {
      return;
    }
    rest();
  }
  mutex_.lock();
}

}  // namespace gcoord
