// Rule of a port about TLS, as of now: it changes while the port is open, and each connection goes
// by the rule that it began with. Any thread.
#pragma once

#include "security/tls/context.h"
#include "server/tls/choices.h"

#include <memory>
#include <mutex>
#include <utility>

namespace gcoord::server {

class PortTls {
 public:
  struct Rule {
    TlsMode mode = TlsMode::Off;
    std::shared_ptr<const security::TlsContext> context;  // Unless off.
  };

  Rule rule() const;

  // Whether the revocation lists of now have this certificate, or one of its chain.
  bool revokes(const security::TlsPeer& peer) const;
  void set(Rule rule);

 private:
  mutable std::mutex mutex_;
  Rule rule_;
};

}  // namespace gcoord::server
