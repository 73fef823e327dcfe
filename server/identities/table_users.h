// The users of the replicated table of roles, as authentication sees them. The loop's thread.
#pragma once

#include "security/roles/role_table.h"
#include "server/identities/user_directory.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

// Of a verifier's bytes, which are the text of security/credentials/password.h. Never renumber.
inline constexpr std::uint8_t kVerifierOfText = 1;

inline security::Verifier table_verifier(std::string_view text) {
  security::Verifier verifier{.algorithm = kVerifierOfText, .bytes = {}};
  const auto* const start = reinterpret_cast<const std::byte*>(text.data());
  verifier.bytes.assign(start, start + text.size());
  return verifier;
}

class TableUsers final : public UserDirectory {
 public:
  // `table` gives the newest.
  explicit TableUsers(std::function<const security::AccessTable&()> table)
      : table_(std::move(table)) {}

  std::optional<KnownUser> find(std::string_view name) const override {
    const security::AccessTable& table = table_();
    const auto found = table.users.find(name);
    if (found == table.users.end()) {
      return std::nullopt;
    }
    const security::User& user = found->second;
    KnownUser known{{}, user.disabled, user.changed};
    if (user.verifier.algorithm == kVerifierOfText) {
      known.verifier.assign(reinterpret_cast<const char*>(user.verifier.bytes.data()),
                            user.verifier.bytes.size());
    }
    return known;
  }

  std::uint64_t epoch() const override { return table_().epoch; }

  bool enabled() const override { return table_().enabled; }

 private:
  std::function<const security::AccessTable&()> table_;
};

}  // namespace gcoord::server
