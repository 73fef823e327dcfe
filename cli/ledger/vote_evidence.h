// Evidence of a double vote, as a file out of a node's DIR/evidence, checked without any node.
//
// Pure; thread-safe.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "ledger/notes/note_key.h"

#include <string_view>
#include <vector>

namespace gcoord::cli {

// Whether the text wants to be such evidence.
bool is_vote_evidence(std::string_view text);

// What it shows. EvidenceMalformed, EvidenceUnproven; the latter also if the key in it is none of
// these.
Result<Json> verify_vote_evidence(std::string_view text, const std::vector<ledger::NoteKey>& keys);

}  // namespace gcoord::cli
