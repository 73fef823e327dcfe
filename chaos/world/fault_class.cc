#include "chaos/world/fault_class.h"

namespace gcoord::chaos {

const char* fault_class_name(FaultClass fault) {
  static constexpr std::array<const char*, kFaultClassCount> kNames = {
      "crash",         "power_loss",     "power_loss_of_all", "torn_write",
      "bit_flip",      "disk_full",      "write_failure",     "sync_failure",
      "slow_disk",     "partition",      "one_way",           "partial",
      "swizzle",       "loss",           "duplicate",         "reorder",
      "delay",         "corrupt",        "clock_jump",        "clock_drift",
      "pause_node",    "pause_client",   "transfer",          "membership",
      "replaced_disk", "old_disk",       "waiter_herd",       "lease_storm",
      "client_retry",  "client_loss",    "abandon",           "snapshot",
      "device_flip",   "device_error",   "lock_move",         "majority_restart",
      "transfer_cut",  "request_repeat", "late_copy",         "member_change",
      "node_lost"};
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace gcoord::chaos
