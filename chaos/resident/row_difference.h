// Names the first field in which two rows differ, for people who have to find out why.
#pragma once

#include "consensus/row_copy.h"

#include <string>

namespace gcoord::chaos {

// "log.commit: 7 and 8", or empty if all that is meant is equal.
std::string first_difference(const consensus::RowCopy& one, const consensus::RowCopy& other);

}  // namespace gcoord::chaos
