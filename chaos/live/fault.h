// One class of fault that live chaos can inject, and its single strikes.
//
// A strike is injected, holds for a while, and is healed; what it does is drawn from the run's seed
// (draw.h). inject() and heal() judge what must hold of this fault in particular (the last
// column of docs/internals/faults.md): a failure that they return fails the run. What must hold of
// every fault, the checkers judge. One thread.
#pragma once

#include "chaos/live/live_world.h"
#include "chaos/live/step_position.h"
#include "chaos/random/draw.h"
#include "common/status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

class Fault {
 public:
  virtual ~Fault() = default;

  // Says in words what was done.
  virtual Result<std::string> inject(LiveWorld& world, Draw& draw) = 0;

  virtual std::chrono::milliseconds hold(Draw& draw) { return draw.milliseconds(1500, 4000); }

  // Says what came of it, or nothing.
  virtual Result<std::string> heal(LiveWorld& world) = 0;

  // Counts evidence that the fault was felt: 0 says that it was injected and hit nothing.
  virtual std::uint64_t felt() const = 0;
};

// Nodes that do not run until they are healed, which starts them again.
class NodesDown : public Fault {
 public:
  Result<std::string> heal(LiveWorld& world) final;

  std::uint64_t felt() const final { return nodes_.size(); }

 protected:
  std::vector<std::uint32_t> nodes_;
};

struct FaultClass {
  std::string_view name;
  std::string_view table;                        // Its numbers in docs/internals/faults.md.
  bool combines = false;                         // May strike together with another.
  std::function<std::unique_ptr<Fault>()> make;  // Empty: it cannot be injected here,
  std::string_view skip;                         // for this reason.
  bool forgets = false;     // A node loses what it had for good: no two such together.
  bool in_company = false;  // From the second deal on it strikes with whatever comes next.
};

std::vector<FaultClass> crash_faults();  // Crashes and pauses.
std::vector<FaultClass> link_faults();   // Partitions and bad links.
std::vector<FaultClass> disk_faults();   // While a node runs, and lost power.
std::vector<FaultClass> file_faults();   // In what a stopped node left, or another's in its place.
// Nodes that lose what they had, and rejoin; nodes that come and go.
std::vector<FaultClass> membership_faults(const StepPosition& place);
std::vector<FaultClass> clock_faults();
std::vector<FaultClass> client_faults();  // Storms and strangers.
std::vector<FaultClass> device_faults(const StepPosition& place);
std::vector<FaultClass> thread_faults(const StepPosition& place);  // One thread of a node stops.

// All of the above, and those that cannot be injected here.
std::vector<FaultClass> all_faults(const StepPosition& place = {});

// "node 2", "nodes 2 and 5".
std::string name_nodes(const std::vector<std::uint32_t>& nodes);

}  // namespace gcoord::chaos
