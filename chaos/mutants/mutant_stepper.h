// The product's stepper with a mistake around it: what goes in, what comes out, or what it is told
// of time is changed as the mistake would change it. One thread.
#pragma once

#include "chaos/mutants/mutant.h"
#include "consensus/step/stepper.h"

#include <cstdint>
#include <memory>

namespace gcoord::chaos {

// Whether the mistake is one of the step's.
constexpr bool of_stepper(Mutant mutant) {
  return (mutant >= Mutant::AcknowledgedBeforeDurable && mutant <= Mutant::CommitFallsBack) ||
         (mutant >= Mutant::LeaseKeptInTransfer && mutant <= Mutant::HeartbeatBeforeLanesMet) ||
         of_members(mutant);
}

// `lane`: whose rows it steps, 0 the first of a node. One that makes no mistake there comes back as
// it is.
std::unique_ptr<consensus::Stepper> make_mutant_stepper(
    Mutant mutant, std::uint32_t lane, std::unique_ptr<consensus::Stepper> stepper);

}  // namespace gcoord::chaos
