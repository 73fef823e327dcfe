#include "netcore/tls/rules.h"

#include <utility>

namespace gcoord::netcore {

using security::TlsSide;
using security::TlsSource;

LinkTlsRules::LinkTlsRules(LinkTlsMode mode,
                           std::unique_ptr<TlsSource> called,
                           std::unique_ptr<TlsSource> caller)
    : mode_(mode), called_(std::move(called)), caller_(std::move(caller)) {}

Result<std::shared_ptr<LinkTlsRules>> LinkTlsRules::open(LinkTlsMode mode,
                                                         const security::TlsFiles& files) {
  GCOORD_TRY(auto called, TlsSource::open(TlsSide::Server, files, {.demand_certificate = true}));
  GCOORD_TRY(auto caller, TlsSource::open(TlsSide::Client, files, {}));
  return std::shared_ptr<LinkTlsRules>(
      new LinkTlsRules(mode, std::move(called), std::move(caller)));
}

Status LinkTlsRules::change(LinkTlsMode mode, const security::TlsFiles& files) {
  GCOORD_TRY_STATUS(called_->replace(files, {.demand_certificate = true}));
  GCOORD_TRY_STATUS(caller_->replace(files, {}));
  set_mode(mode);
  return {};
}

Status LinkTlsRules::refresh() {
  const Result<bool> called = called_->refresh();
  const Result<bool> caller = caller_->refresh();
  return called.ok() ? (caller.ok() ? Status{} : caller.status()) : called.status();
}

}  // namespace gcoord::netcore
