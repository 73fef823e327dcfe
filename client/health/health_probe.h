// One run of one health check: a command, a connection, or a GET.
//
// On the client's thread only, and never waiting there. Breaking a run off closes its socket, or
// kills its command with all that it started in its process group; the end of a command kills what
// it left running there, as long as the exit status was not taken by somebody else. Who starts it
// watches the time.
//
// The GET is not that of common/http: a check must never hold up the client's one thread, reads
// nothing but a status line, and belongs to a library whose users have libcrypto and nothing more.
#pragma once

#include "gcoord/health.h"

#include <functional>
#include <memory>
#include <string>

namespace asio {
class io_context;
}

namespace gcoord::client {

class HealthProbe {
 public:
  // Its finding, once; not inside start_probe(), and not after the run was broken off.
  using Found = std::function<void(bool passed, std::string evidence)>;

  HealthProbe() = default;
  virtual ~HealthProbe() = default;
  HealthProbe(const HealthProbe&) = delete;
  HealthProbe& operator=(const HealthProbe&) = delete;

  // Nothing is found after this.
  virtual void stop() = 0;
};

// The check is one that check_health() allows.
std::shared_ptr<HealthProbe> start_probe(asio::io_context& context,
                                         const HealthCheck& check,
                                         HealthProbe::Found found);

// The kinds.
std::shared_ptr<HealthProbe> start_command_probe(asio::io_context& context,
                                                 const HealthCheck& check,
                                                 HealthProbe::Found found);
std::shared_ptr<HealthProbe> start_network_probe(asio::io_context& context,
                                                 const HealthCheck& check,
                                                 HealthProbe::Found found);

}  // namespace gcoord::client
