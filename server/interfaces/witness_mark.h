// Mark in a shard's bytes in place of the services' state, in the checkpoints of a witness
// (protocol/members/cluster_view.h) and in the snapshots that it is sent.
//
// Four bytes that no service takes for its state: a node that has services refuses them, so that
// it never serves emptiness as what was decided. Pure; thread-safe.
#pragma once

#include "common/marked_part.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

// As a length at the end of bytes it is longer than they are, and it is too short for a head
// (server/history/publication_service.h, ledger_service.h).
inline constexpr auto kWitnessMark = static_cast<std::uint32_t>(PartMark::Witness);

inline void append_witness_mark(std::vector<std::byte>& bytes) {
  for (std::uint32_t shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::byte>(kWitnessMark >> shift & 0xffu));
  }
}

}  // namespace gcoord::server
