#include "netcore/tls/rules.h"

#include <utility>

namespace gcoord::netcore {

using security::TlsSide;
using security::TlsSource;

LinkTlsRules::LinkTlsRules(LinkTlsMode mode,
                           std::unique_ptr<TlsSource> called,
                           std::unique_ptr<TlsSource> caller)
    : mode_(mode), called_(std::move(called)), caller_(std::move(caller)) {}

std::shared_ptr<LinkTlsRules> LinkTlsRules::off() {
  return std::shared_ptr<LinkTlsRules>(new LinkTlsRules(LinkTlsMode::Off, nullptr, nullptr));
}

Result<std::shared_ptr<LinkTlsRules>> LinkTlsRules::open(LinkTlsMode mode,
                                                         const security::TlsFiles& files) {
  auto rules = off();
  GCOORD_TRY_STATUS(rules->change(mode, files));
  return rules;
}

Status LinkTlsRules::change(LinkTlsMode mode, const security::TlsFiles& files) {
  if (called_ == nullptr) {
    GCOORD_TRY(auto called, TlsSource::open(TlsSide::Server, files, {.demand_certificate = true}));
    GCOORD_TRY(auto caller, TlsSource::open(TlsSide::Client, files, {}));
    called_ = std::move(called);
    caller_ = std::move(caller);
    set_mode(mode);
    return {};
  }
  GCOORD_TRY_STATUS(called_->replace(files, {.demand_certificate = true}));
  GCOORD_TRY_STATUS(caller_->replace(files, {}));
  set_mode(mode);
  return {};
}

Status LinkTlsRules::refresh() {
  if (called_ == nullptr) {
    return {};
  }
  const Result<bool> called = called_->refresh();
  const Result<bool> caller = caller_->refresh();
  return called.ok() ? (caller.ok() ? Status{} : caller.status()) : called.status();
}

}  // namespace gcoord::netcore
