// One number for everything a row of a resident cluster is after a turn, for parity.
#pragma once

#include "chaos/parity/view.h"
#include "common/hd.h"
#include "consensus/step/row_digest.h"

#include <cstdint>

namespace gcoord::chaos {

GCOORD_HD inline std::uint64_t resident_digest(const ResidentView& view,
                                               std::uint32_t node,
                                               std::uint32_t row,
                                               consensus::ShardRef shard) {
  const Service& service = view.node[node].service[row];
  std::uint64_t digest = consensus::row_digest(shard);
  digest = consensus::fold(digest, service);
  return mix64(digest ^ view.node[node].due[row]);
}

}  // namespace gcoord::chaos
