#include "client/net/tls_access.h"

#include "client/net/failure.h"
#include "client/net/host_port.h"
#include "protocol/error_codes.h"
#include "security/tls/errors.h"
#include "security/tls/session.h"
#include "security/tls/source.h"

#include <utility>

namespace gcoord::client {

TlsAccess::TlsAccess(TlsOptions options) : options_(std::move(options)) {}

TlsAccess::~TlsAccess() = default;

std::shared_ptr<TlsAccess> TlsAccess::for_options(const TlsOptions& options) {
  const bool wanted =
      options.enabled || !options.cacert.empty() || !options.cert.empty() || !options.key.empty();
  return wanted ? std::make_shared<TlsAccess>(options) : nullptr;
}

gcoord::Result<std::unique_ptr<security::TlsSession>> TlsAccess::begin(
    const std::string& endpoint) {
  if (options_.cert.empty() != options_.key.empty()) {
    return numbered(protocol::ErrorCode::OptionMissing,
                    options_.cert.empty() ? "a key without its certificate (cert)"
                                          : "a certificate without its key (key)");
  }
  const std::lock_guard lock(mutex_);
  if (source_ == nullptr) {
    const security::TlsFiles files{.certificate = options_.cert,
                                   .key = options_.key,
                                   .authority = options_.cacert,
                                   .revoked = {}};
    GCOORD_TRY(source_, security::TlsSource::open(security::TlsSide::Client, files, {}));
  } else {
    // Half-written files are read again at the next connection.
    static_cast<void>(source_->refresh().ok());
  }
  const std::string host =
      options_.server_name.empty() ? split_host_port(endpoint).host : options_.server_name;
  return std::make_unique<security::TlsSession>(source_->current(), host, endpoint);
}

gcoord::Status TlsAccess::explained(const gcoord::Status& failure) const {
  if (failure.detail() == security::kTlsRefused && options_.cert.empty()) {
    return numbered(protocol::ErrorCode::TlsCertificateDemanded, failure.message());
  }
  return failure;
}

}  // namespace gcoord::client
