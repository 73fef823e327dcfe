// The addresses of --endpoints. Pure; any thread.
#pragma once

#include "common/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

// Where nothing else is said.
inline constexpr const char* kDefaultEndpoint = "127.0.0.1";

// "a.example:7401,127.0.0.1,[::1]" -> each with a port, 7400 where none was given. OptionInvalid
// names the part that is no address. Empty parts do not count, but one there must be. What begins
// with "srv:" is a name in DNS, with "unix:" the path of a Unix socket, with "shm:" that of shared
// memory; they stay as they are.
Result<std::vector<std::string>> parse_endpoints(std::string_view text);

}  // namespace gcoord::cli
