// The product's stepper with a mistake around it: what goes in, what comes out, or what it is told
// of time is changed as the mistake would change it. One thread.
#pragma once

#include "chaos/mutants/mutant.h"
#include "consensus/step/stepper.h"

#include <memory>

namespace gcoord::chaos {

// Whether the mistake is one of the step's.
constexpr bool of_stepper(Mutant mutant) {
  return (mutant >= Mutant::AcknowledgedBeforeDurable && mutant <= Mutant::CommitFallsBack) ||
         mutant >= Mutant::LeaseKeptInTransfer;
}

std::unique_ptr<consensus::Stepper> make_mutant_stepper(
    Mutant mutant, std::unique_ptr<consensus::Stepper> stepper);

}  // namespace gcoord::chaos
