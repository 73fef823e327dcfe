// Options of one simulated world. All of it follows from the seed; the minimiser takes parts away.
#pragma once

#include "chaos/mutants/mutant.h"
#include "chaos/world/fault_class.h"
#include "consensus/step/inbox.h"
#include "server/platform/choices.h"
#include "server/platform/device_choice.h"

#include <cstdint>

namespace gcoord::chaos {

inline constexpr std::uint32_t kNoShard = ~std::uint32_t{0};

struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint32_t node_count = 3;  // At the beginning.
  std::uint32_t shard_count = 64;
  std::uint32_t turn_threads = 1;  // Of a node; 0: each life of a node draws 1 to 4.
  std::uint32_t client_count = 6;
  std::uint32_t key_count = 12;
  FaultMask faults = 0;
  Mutant mutant = Mutant::None;
  // Nothing befalls the world but losses of power, one after the other, each of one machine or of
  // all, and each between two operations of a disk.
  bool cuts_power = false;
  bool tells = false;  // What befalls whom, on stderr.
  // Also every message about this shard; none from kNoShard on.
  std::uint32_t told_shard = kNoShard;
  // Where every node steps its shards; never Auto. On a device each step is done again on the host
  // and compared (consensus/device/device_check.h).
  server::DeviceChoice device;
  // Rows are told everything by steps, as on a device, to be compared with one: a CPU settles some
  // of it (consensus/step/settle.h), which takes other turns.
  bool steps_only = false;
  // A world that does not come to rest after its faults has failed (L1).
  bool judges_liveness = true;
  consensus::Durability durability = consensus::Durability::Durable;
  server::CoordinatorMethod coordinator = server::CoordinatorMethod::Raft;

  // Times are milliseconds of the world. Real timings scaled by some factor: the ratios are those
  // of a node's defaults.
  std::uint32_t tick_ms = 50;
  std::uint32_t election_ticks = 40;
  std::uint32_t heartbeat_ticks = 4;
  std::uint32_t quantum_ms = 10;  // The grain of the world's time.
  std::uint64_t safety_ms = 90'000;
  // Of a client's session: longer than a failover.
  std::uint32_t ttl_ms = 9'000;

  // How far a clock's rate may be off, per million, and what clients allow for
  // (ClientOptions::drift_divisor).
  std::uint32_t drift_ppm = 4'000;
  std::uint32_t drift_divisor = 100;

  // Clients name the terms of leaders (protocol::RequestFlag::NamesTerm) though no fault of the
  // world asks for that; else they are of an earlier version.
  bool names_terms = false;

  // Worlds without requests that come late are what they were.
  bool clients_name_terms() const {
    constexpr FaultMask kLate = mask_of(FaultClass::RequestRepeat) | mask_of(FaultClass::LateCopy);
    return names_terms || (faults & kLate) != 0;
  }

  // Nodes have the cluster view, and an operator changes it.
  bool changes_members() const { return (faults & mask_of(FaultClass::MemberChange)) != 0; }

  // Takes these in place of those drawn. Nodes that come and go are durable.
  void set_faults(FaultMask chosen) {
    faults = chosen;
    durability = changes_members() ? consensus::Durability::Durable : durability;
  }

  std::uint64_t election_ms() const { return std::uint64_t{tick_ms} * election_ticks; }
};

// 3, 5 or 7 nodes; one seed in eight in memory mode; a handful of fault classes, or all of them.
// Where nodes step on devices, three worlds of four have faults of theirs besides.
WorldOptions world_of_seed(std::uint64_t seed, server::DeviceChoice device = {});

// The same, but durable, and with nodes that come and go. Half of them lose machines for ever.
WorldOptions member_world_of_seed(std::uint64_t seed, server::DeviceChoice device = {});

// The world of the seed in durable mode, with nothing but losses of power
// (WorldOptions::cuts_power).
WorldOptions power_world_of_seed(std::uint64_t seed);

}  // namespace gcoord::chaos
