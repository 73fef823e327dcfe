// The ways to drive etcd of which a comparison takes the best: recipe, endpoints, connections.
#pragma once

#include "bench/etcd/etcd_target.h"

#include <cstdint>

namespace gcoord::bench {

struct EtcdWay {
  EtcdRecipe recipe;
  EtcdSpread spread;
  std::uint32_t connections;
};

// One connection to each node or all to the leader, few or many: whichever serves etcd best.
inline constexpr EtcdWay kEtcdWays[] = {{EtcdRecipe::Transaction, EtcdSpread::Leader, 1},
                                        {EtcdRecipe::Transaction, EtcdSpread::Leader, 16},
                                        {EtcdRecipe::Transaction, EtcdSpread::Even, 3},
                                        {EtcdRecipe::Transaction, EtcdSpread::Even, 48},
                                        {EtcdRecipe::LockService, EtcdSpread::Leader, 1},
                                        {EtcdRecipe::LockService, EtcdSpread::Leader, 16},
                                        {EtcdRecipe::LockService, EtcdSpread::Even, 48}};

}  // namespace gcoord::bench
