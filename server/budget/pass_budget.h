// Budget of one pass of the node's loop for work that comes in storms: deficit round robin between
// classes of work.
//
// A million sessions may end in one second, a million watches may want the same event. Each class
// of such work does a slice per pass, and the rest in the next passes; between them the loop reads
// requests, hears its peers and turns its replicas. begin_pass() deals kPassUnits in quanta, in
// turn, to the classes that put work off in the pass before: one alone gets all of it, four get a
// quarter each. A class with nothing put off has one quantum, so work that is not a storm never
// waits. What a class spent beyond its credit is taken from its next; credit that is not used is
// lost unless its class has work left, and never grows beyond kPassUnits.
//
// A unit is about a microsecond of a core. A class asks left(), works, says spend(), and at the end
// of its slice put_off(): whether some of it waits. While behind() the loop does not sleep.
// docs/adr/0103 has the reasons. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::server {

enum class WorkClass : std::uint8_t {
  SessionEnds,    // Sessions whose time ran out: questions to peers, and proposals.
  WaitEnds,       // Waits that ran out of time, or whose shard is led elsewhere now.
  WatchMessages,  // Events and progress to watches.
  // Watches of connections that are gone, of a node that is cut off, or of a shard whose state a
  // snapshot replaced.
  LostConnections,
};

inline constexpr std::size_t kWorkClasses = 4;

// Some 2 ms: longer slices would end no storm sooner, since a pass without them takes a tenth of
// that, and a request that comes in between waits for a slice of each class at most.
inline constexpr std::size_t kPassUnits = 2048;
inline constexpr std::size_t kQuantumUnits = kPassUnits / kWorkClasses;

class PassBudget {
 public:
  explicit PassBudget(MetricsRegistry& metrics);

  // Once per pass, before any of the work.
  void begin_pass();

  // Units that the class may still spend in this pass; 0: it puts the rest off.
  std::size_t left(WorkClass work) const {
    const std::int64_t credit = of(work).credit;
    return credit > 0 ? static_cast<std::size_t>(credit) : 0;
  }

  // May be more than is left, since work is not cut in the middle.
  void spend(WorkClass work, std::size_t units) {
    of(work).credit -= static_cast<std::int64_t>(units);
  }

  // At the end of the class's slice: whether work that could be done now waits for the next pass.
  void put_off(WorkClass work, bool waits);

  // Whether some class has put work off, so that the next pass must come at once.
  bool behind() const;

 private:
  struct Share {
    std::int64_t credit = static_cast<std::int64_t>(kQuantumUnits);
    bool waits = false;
    Gauge* waits_shown = nullptr;
    Counter* put_offs = nullptr;
  };

  const Share& of(WorkClass work) const { return shares_[static_cast<std::size_t>(work)]; }

  Share& of(WorkClass work) { return shares_[static_cast<std::size_t>(work)]; }

  std::array<Share, kWorkClasses> shares_;
  std::size_t turn_ = 0;  // The class whose quantum comes first in the next pass.
};

}  // namespace gcoord::server
