// Denials of the replicated table, compiled for look-ups: by principal, certificate and address.
//
// A denial ends by itself at its time, by this node's wall clock, whether the table still has it or
// not. One thread.
#pragma once

#include "security/limits/limit_table.h"
#include "security/limits/network.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// What denials are compared with.
struct DenialSubject {
  std::string principal;  // Empty: it has proven nobody.
  std::string serial;     // Of its certificate, in upper case; empty: none.
  std::vector<std::string> names;
  security::AddressBits address{};
};

class DenialList {
 public:
  // From now on those of the table.
  void assign(const security::LimitTable& table);

  bool empty() const { return named_.empty() && networks_.empty(); }

  // The denial that is about the subject; nothing: none is, or it has ended.
  std::optional<security::DenialScope> find(const DenialSubject& subject,
                                            std::uint64_t now_ms) const;

  // The same of an address alone.
  bool denies(const security::AddressBits& address, std::uint64_t now_ms) const;

 private:
  using Ends = std::map<std::string, std::uint64_t, std::less<>>;

  struct DeniedNetwork {
    security::Network network;
    std::uint64_t until_ms = 0;
  };

  bool has(security::DenialScope scope, std::string_view name, std::uint64_t now_ms) const;

  std::map<security::DenialScope, Ends> named_;
  std::vector<DeniedNetwork> networks_;
};

// The subject that a command of the table would be about alone, and whether it is this one.
bool is_about(security::DenialScope scope, std::string_view name, const DenialSubject& subject);

}  // namespace gcoord::server
