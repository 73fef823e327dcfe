#include "chaos/world/world_options.h"

#include "chaos/random/sim_random.h"

namespace gcoord::chaos {
namespace {

constexpr FaultMask kAll = (FaultMask{1} << kFaultClassesDrawn) - 1;

// What memory mode does not promise to survive, or what needs a log of record.
constexpr FaultMask kDurableOnly =
    mask_of(FaultClass::PowerLossOfAll) | mask_of(FaultClass::TornWrite) |
    mask_of(FaultClass::BitFlip) | mask_of(FaultClass::DiskFull) |
    mask_of(FaultClass::WriteFailure) | mask_of(FaultClass::SyncFailure) |
    mask_of(FaultClass::ReplacedDisk) | mask_of(FaultClass::OldDisk) |
    mask_of(FaultClass::PowerLoss) | mask_of(FaultClass::Snapshot);

FaultMask draw_faults(SimRandom& random) {
  if (random.below(4) == 0) {
    return kAll;
  }
  FaultMask faults = 0;
  for (std::uint32_t count = random.between(2, 7); count > 0; --count) {
    faults |= FaultMask{1} << random.below(kFaultClassesDrawn);
  }
  return faults;
}

}  // namespace

WorldOptions world_of_seed(std::uint64_t seed, server::DeviceChoice device) {
  SimRandom random{seed, 1};
  WorldOptions options;
  options.seed = seed;
  const std::uint32_t shape = random.below(10);
  options.node_count = shape < 6 ? 3 : shape < 9 ? 5 : 7;
  options.client_count = random.between(4, 9);
  options.key_count = random.between(3, 16);
  options.faults = draw_faults(random);
  if (random.below(4) == 0) {
    // Clocks as far apart as a lease's margin of a tenth allows; clients that know it.
    options.drift_ppm = 40'000;
    options.drift_divisor = 10;
  }
  if (random.below(8) == 0) {
    options.durability = consensus::Durability::Memory;
    options.faults = (options.faults & ~kDurableOnly) | mask_of(FaultClass::Crash) |
                     mask_of(FaultClass::Membership);
  } else {
    options.faults &= ~mask_of(FaultClass::Membership);
  }
  // Half of the worlds have their locks moved.
  if (SimRandom{seed, 9}.below(2) == 0) {
    options.faults |= mask_of(FaultClass::LockMove);
  }
  SimRandom apart{seed, 10};
  for (const FaultClass fault :
       {FaultClass::MajorityRestart, FaultClass::TransferCut, FaultClass::RequestRepeat}) {
    options.faults |= apart.below(2) == 0 ? mask_of(fault) : 0;
  }
  // Rarely: it silences all clients and takes half a minute.
  options.faults |= apart.below(8) == 0 ? mask_of(FaultClass::LateCopy) : 0;
  if (options.durability == consensus::Durability::Memory) {
    options.faults &= ~(mask_of(FaultClass::MajorityRestart) | mask_of(FaultClass::LateCopy));
  }
  options.device = device;
  // Every fourth world has devices in order, and is what it would be on CPUs.
  if (device.names_device() && seed % 4 != 0) {
    options.faults |= kDeviceFaults;
  }
  return options;
}

WorldOptions member_world_of_seed(std::uint64_t seed, server::DeviceChoice device) {
  WorldOptions options = world_of_seed(seed, device);
  const bool loses = SimRandom{seed, 11}.below(2) == 0;
  options.set_faults((options.faults & ~mask_of(FaultClass::Membership)) |
                     mask_of(FaultClass::MemberChange) |
                     (loses ? mask_of(FaultClass::NodeLost) : 0));
  return options;
}

WorldOptions power_world_of_seed(std::uint64_t seed) {
  WorldOptions options = world_of_seed(seed);
  options.durability = consensus::Durability::Durable;
  options.faults = mask_of(FaultClass::TornWrite) | mask_of(FaultClass::PowerLossOfAll);
  options.cuts_power = true;
  return options;
}

}  // namespace gcoord::chaos
