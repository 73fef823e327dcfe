// An example of each verb of gcoordctl, for its --help and the manual page. Pure; thread-safe.
#pragma once

#include <string>

namespace gcoord::cli {

// "gcoordctl lock get jobs/train" of "lock get"; empty for what is no verb. A shell takes it as it
// is, and gcoordctl takes its words.
std::string example_of(const std::string& verb);

}  // namespace gcoord::cli
