#include "cli/ledger/vote_evidence.h"

#include "protocol/error_codes.h"
#include "server/evidence/double_vote.h"

#include <algorithm>
#include <string>

namespace gcoord::cli {

bool is_vote_evidence(std::string_view text) {
  return text.starts_with("gcoord evidence of two votes ");
}

Result<Json> verify_vote_evidence(std::string_view text, const std::vector<ledger::NoteKey>& keys) {
  GCOORD_TRY(const server::VoteEvidence evidence, server::parse_evidence(text));
  const bool known = std::ranges::any_of(
      keys, [&](const ledger::NoteKey& key) { return key.text() == evidence.key.text(); });
  if (!known) {
    return protocol::make_error(protocol::ErrorCode::EvidenceUnproven,
                                "the key in it is none of those that were given");
  }
  const server::DoubleVote& shown = evidence.shown;
  return Json{{"proves", "double_vote"},
              {"cluster", std::to_string(shown.cluster.value)},
              {"voter", std::to_string(shown.voter.value)},
              {"life", std::to_string(shown.life.value)},
              {"shard", std::to_string(shown.of.shard.value)},
              {"term", std::to_string(shown.of.term.value)},
              {"candidates",
               std::to_string(shown.candidates[0].value) + "," +
                   std::to_string(shown.candidates[1].value)}};
}

}  // namespace gcoord::cli
