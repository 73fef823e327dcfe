// Hears bells (bell.h) for a program's event loop: a thread that looks at them, and a descriptor
// that is readable while a ring waits to be taken.
//
// It is a level, as docs/adr/0061 says of the client's descriptors: take one ring or all, read the
// descriptor or not, use poll, epoll or a library's loop; nothing is lost. Between a ring and the
// moment in which the descriptor becomes readable lies the thread's next look: at once while bells
// ring often, and at most `pause_us_max` and some 60 us of the kernel's timer after a silence. That
// is the price of calls for which a device can raise no interrupt; take() itself looks at the bells
// and is never behind.
//
// Host only. fd() and take() from any thread; the bells outlive the object.
#pragma once

#include "common/host/event_level.h"
#include "common/status.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace gcoord::netcore {

struct BellWatchOptions {
  // How long it looks without a pause after a ring, since rings come in bursts.
  std::uint32_t spin_us = 50;
  // The longest pause between two looks in a silence: 2,000 looks a second at most, three
  // hundredths of a processor with 64 bells (measured on a virtual machine that others use, too).
  std::uint32_t pause_us_max = 500;
};

// So often a bell was rung since it was last taken.
struct BellRings {
  std::uint32_t bell = 0;
  std::uint64_t rings = 0;
};

class BellWatch {
 public:
  // What was rung before counts. ResourceExhausted without a descriptor.
  static Result<std::unique_ptr<BellWatch>> start(std::vector<std::uint64_t*> bells,
                                                  const BellWatchOptions& options = {});
  // Ends the thread and closes the descriptor: take it out of the loop before.
  ~BellWatch();
  BellWatch(const BellWatch&) = delete;
  BellWatch& operator=(const BellWatch&) = delete;

  // Readable while take() would bring something, as far as the thread has looked.
  int fd() const { return fd_; }

  // The next bell that was rung since it was last taken; the one taken last comes last. Nothing:
  // none was. Never waits.
  std::optional<BellRings> take();

 private:
  struct Heard {
    std::uint64_t* word = nullptr;
    std::uint64_t told = 0;   // What the descriptor was written for.
    std::uint64_t taken = 0;  // What take() has brought.
  };

  BellWatch(std::vector<std::uint64_t*> bells, const BellWatchOptions& options);

  bool look();
  void run();

  BellWatchOptions options_;
  int fd_ = -1;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ending_ = false;
  EventLevel level_;
  std::vector<Heard> bells_;
  std::size_t next_ = 0;  // Where take() goes on.
  std::thread thread_;
};

}  // namespace gcoord::netcore
