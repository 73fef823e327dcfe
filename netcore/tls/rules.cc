#include "netcore/tls/rules.h"

#include "common/assert.h"
#include "security/tls/revocation_check.h"

#include <utility>

namespace gcoord::netcore {

using security::TlsSide;
using security::TlsSource;

std::shared_ptr<LinkTlsRules> LinkTlsRules::none() {
  return std::shared_ptr<LinkTlsRules>(new LinkTlsRules());
}

Result<std::shared_ptr<LinkTlsRules>> LinkTlsRules::open(LinkTlsMode mode,
                                                         const security::TlsFiles& files) {
  auto rules = none();
  GCOORD_TRY_STATUS(rules->change(mode, files));
  return rules;
}

void LinkTlsRules::set_mode(LinkTlsMode mode) {
  GCOORD_ASSERT(mode == LinkTlsMode::Off || called_ != nullptr);
  mode_.store(mode, std::memory_order_release);
}

std::shared_ptr<const security::TlsContext> LinkTlsRules::called() const {
  const std::lock_guard lock(mutex_);
  return called_->current();
}

std::shared_ptr<const security::TlsContext> LinkTlsRules::caller() const {
  const std::lock_guard lock(mutex_);
  return caller_->current();
}

Status LinkTlsRules::change(LinkTlsMode mode, const security::TlsFiles& files) {
  if (called_ != nullptr) {
    GCOORD_TRY_STATUS(called_->replace(files, {.demand_certificate = true}));
    GCOORD_TRY_STATUS(caller_->replace(files, {}));
  } else {
    GCOORD_TRY(auto called,
               TlsSource::open({TlsSide::Server, judge_}, files, {.demand_certificate = true}));
    GCOORD_TRY(auto caller, TlsSource::open({TlsSide::Client, judge_}, files, {}));
    const std::lock_guard lock(mutex_);
    called_ = std::move(called);
    caller_ = std::move(caller);
  }
  version_.fetch_add(1, std::memory_order_release);  // Pairs with version().
  set_mode(mode);
  return {};
}

bool LinkTlsRules::revokes(const security::TlsPeer& peer) const {
  std::shared_ptr<const security::TlsContext> context;
  {
    const std::lock_guard lock(mutex_);
    context = called_ == nullptr ? nullptr : called_->current();
  }
  return security::RevocationCheck(std::move(context)).revokes(peer);
}

Status LinkTlsRules::refresh() {
  if (called_ == nullptr) {
    return {};
  }
  const Result<bool> called = called_->refresh();
  const Result<bool> caller = caller_->refresh();
  if ((called.ok() && called.value()) || (caller.ok() && caller.value())) {
    version_.fetch_add(1, std::memory_order_release);
  }
  return called.ok() ? (caller.ok() ? Status{} : caller.status()) : called.status();
}

}  // namespace gcoord::netcore
