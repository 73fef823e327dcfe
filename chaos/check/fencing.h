// Promises about tokens and holds that need no search: always decided, in n log n.
//
// Only what clients saw counts, in real time. A hold lasts from the moment its grant was told until
// its release was asked for, until its lease may have lapsed (hold_ends.h), or for ever.
//   I8   a token that was acknowledged and not given up is valid; a released one is not
//   I10  a grant that was asked for after another was told has a higher token
//   I11  two holds of one name never overlap; after a write under token k a guarded store accepts
//        no write under j < k that was asked for later
//   I18  nothing is done twice: one token belongs to one grant, one (session, shard, sequence) to
//        one operation, told again only with the same answer
// Unknown outcomes are given the benefit of the doubt. Pure.
#pragma once

#include "chaos/check/operation.h"
#include "chaos/check/verdict.h"

#include <vector>

namespace gcoord::chaos {

CheckReport check_acknowledged(const std::vector<Operation>& operations);      // I8.
CheckReport check_tokens(const std::vector<Operation>& operations);            // I10.
CheckReport check_mutual_exclusion(const std::vector<Operation>& operations);  // I11.
CheckReport check_exactly_once(const std::vector<Operation>& operations);      // I18.

}  // namespace gcoord::chaos
