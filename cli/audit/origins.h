// Origins of sessions, for the verbs that show sessions and holders: who is behind each. One
// thread.
#pragma once

#include "common/json/value.h"
#include "gcoord/client.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gcoord::cli {

// By session. Sessions of which nothing is known, or nothing that the user may see, are not in it.
using OriginMap = std::map<std::uint64_t, client::SessionOrigin>;

// Reads them from the nodes, in as many requests as are needed.
client::Result<OriginMap> origins_of(client::Client& client,
                                     const std::vector<std::uint64_t>& sessions);

// Of the holders of a name and of those who wait for it.
client::Result<OriginMap> origins_of_holders(client::Client& client, const std::string& name);

// {"session": "5", "principal_kind": "user", "principal": "bob", "address_class": ..., "address":
// ..., "client": ..., "since": "2026-11-29T10:00:00Z"}
Json origin_json(const client::SessionOrigin& origin);

// "user bob", or "anonymous".
std::string principal_text(const client::SessionOrigin& origin);

// The same as cells of a table: principal, address, client, since; "-" for a session without.
inline const std::vector<std::string> kOriginColumns{"PRINCIPAL", "ADDRESS", "CLIENT", "SINCE"};
std::vector<std::string> origin_cells(const OriginMap& origins, std::uint64_t session);

}  // namespace gcoord::cli
