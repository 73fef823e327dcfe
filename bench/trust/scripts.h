// Scripts of a crowd's connections: to gcoord, and to etcd by HTTP. Pure, but for kept tokens.
#pragma once

#include "bench/trust/crowd.h"

#include <memory>
#include <string>

namespace gcoord::bench {

// A Hello and its Welcome: the least that a client of gcoord says.
CrowdScript hello_script();

// Then a login by password. The newest token that came is kept in `token`.
CrowdScript password_script(const std::string& user,
                            const std::string& password,
                            std::shared_ptr<std::string> token);

// Then, instead, a login by token; and with `reads` a read of a lock that any replica serves.
CrowdScript token_script(const std::string& token, bool reads);

// One request by HTTP/1.1, answered with status 200. Empty `json`: a GET.
CrowdScript http_script(const std::string& path, const std::string& json);

}  // namespace gcoord::bench
