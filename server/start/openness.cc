#include "server/start/openness.h"

#include "server/platform/operator_log.h"

namespace gcoord::server {

std::string_view openness_name(Openness openness) {
  switch (openness) {
    case Openness::Closed:
      return "nobody";
    case Openness::Loopback:
      return "loopback";
    case Openness::Network:
      return "network";
  }
  return "unknown";
}

Openness openness(const NodeOptions& options, const TlsChoices& tls, bool rights_checked) {
  const bool certified = tls_mode(tls, tls.client) == TlsMode::Required &&
                         client_certificates(tls) == ClientCertificates::Required;
  if (rights_checked || certified) {
    return Openness::Closed;
  }
  return is_loopback(options.listen_client) ? Openness::Loopback : Openness::Network;
}

void log_openness(const NodeOptions& options, bool rights_checked) {
  const Openness found = openness(options, options.tls, rights_checked);
  if (found == Openness::Network && !options.insecure) {
    log_warning(LogComponent::Node,
                "rights are not checked and clients need no certificate: everybody who reaches {} "
                "may do everything; set client_certificates to required, or switch rights on "
                "(docs/how-to/roles.md)",
                to_string(options.listen_client));
  } else if (found == Openness::Loopback) {
    log_info(LogComponent::Node,
             "rights are not checked: every program of this host may do everything here");
  }
}

}  // namespace gcoord::server
