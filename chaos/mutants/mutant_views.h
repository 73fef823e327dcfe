// The view machine of a simulated node with a mistake around it: what the log says of views reaches
// it as the mistake would have it, and what stands behind it sees the log as it is. One thread.
#pragma once

#include "chaos/mutants/mutant.h"
#include "common/ids.h"
#include "server/interfaces/state_machine.h"

#include <functional>
#include <memory>

namespace gcoord::chaos {

// Whether the mistake is one of the view machine's.
constexpr bool of_views(Mutant mutant) {
  return mutant == Mutant::ViewAppliedTwice || mutant == Mutant::EpochReused;
}

class MutantViews {
 public:
  virtual ~MutantViews() = default;

  // What the view machine is to stand before.
  virtual server::StateMachine& behind() = 0;

  // What the engine is to call, once the view machine, which outlives it, is there.
  virtual server::StateMachine& around(server::StateMachine& views) = 0;
};

// `inner` outlives it. Only node 2 makes mistakes.
std::unique_ptr<MutantViews> make_mutant_views(Mutant mutant,
                                               NodeId node,
                                               server::StateMachine& inner);

}  // namespace gcoord::chaos
