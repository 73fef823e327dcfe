// Text input of `gcoordctl quorum eval`: voters with weights, votes, match indices.
//
//   --voters 1:1,2:1,3:2   --outgoing 1:1,4:1   --learners 5
//   --votes 1=yes,2=no     --acknowledged 1=10,2=8
//
// Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "consensus/step/configuration.h"

#include <array>
#include <cstdint>
#include <string>

namespace gcoord::cli {

struct QuorumText {
  std::string voters;
  std::string outgoing;
  std::string learners;
  std::string votes;
  std::string acknowledged;
};

struct QuorumInput {
  consensus::Configuration configuration;
  consensus::SlotMask granted = 0;
  consensus::SlotMask rejected = 0;
  bool has_votes = false;
  bool has_acknowledged = false;
  std::uint64_t acknowledged[consensus::kReplicaSlots]{};  // 0 where nothing was given.
};

// OptionInvalid names the part that cannot be used. A node that is in both halves has one weight.
Result<QuorumInput> parse_quorum(const QuorumText& text);

}  // namespace gcoord::cli
