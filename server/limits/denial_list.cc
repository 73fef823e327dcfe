#include "server/limits/denial_list.h"

#include <algorithm>

namespace gcoord::server {

using security::DenialScope;

void DenialList::assign(const security::LimitTable& table) {
  named_.clear();
  networks_.clear();
  for (const auto& [key, denial] : table.denials) {
    if (key.scope != DenialScope::Network) {
      named_[key.scope].emplace(key.name, denial.until_ms);
    } else if (const auto network = security::parse_network(key.name)) {
      networks_.push_back({*network, denial.until_ms});
    }
  }
}

bool DenialList::has(DenialScope scope, std::string_view name, std::uint64_t now_ms) const {
  const auto ends = named_.find(scope);
  if (ends == named_.end() || name.empty()) {
    return false;
  }
  const auto found = ends->second.find(name);
  return found != ends->second.end() && now_ms < found->second;
}

bool DenialList::denies(const security::AddressBits& address, std::uint64_t now_ms) const {
  return std::ranges::any_of(networks_, [&](const DeniedNetwork& each) {
    return now_ms < each.until_ms && each.network.contains(address);
  });
}

std::optional<DenialScope> DenialList::find(const DenialSubject& subject,
                                            std::uint64_t now_ms) const {
  if (has(DenialScope::Principal, subject.principal, now_ms)) {
    return DenialScope::Principal;
  }
  if (has(DenialScope::Serial, subject.serial, now_ms)) {
    return DenialScope::Serial;
  }
  const bool named = std::ranges::any_of(subject.names, [&](const std::string& name) {
    return has(DenialScope::CertificateName, name, now_ms);
  });
  if (named) {
    return DenialScope::CertificateName;
  }
  return denies(subject.address, now_ms) ? std::optional(DenialScope::Network) : std::nullopt;
}

bool is_about(DenialScope scope, std::string_view name, const DenialSubject& subject) {
  switch (scope) {
    case DenialScope::Principal:
      return name == subject.principal;
    case DenialScope::Serial:
      return name == subject.serial;
    case DenialScope::CertificateName:
      return std::ranges::find(subject.names, name) != subject.names.end();
    case DenialScope::Network:
      break;
  }
  const auto network = security::parse_network(name);
  return network && network->contains(subject.address);
}

}  // namespace gcoord::server
