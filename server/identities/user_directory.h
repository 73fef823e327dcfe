// The users of a cluster as authentication sees them: a view of the replicated table. The loop's
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::server {

struct KnownUser {
  std::string verifier;  // Of the password (security/credentials/password.h); empty: has none.
  bool disabled = false;
  std::uint64_t changed = 0;  // Epoch of the last change that ends the user's tokens.
};

class UserDirectory {
 public:
  virtual ~UserDirectory() = default;

  virtual std::optional<KnownUser> find(std::string_view name) const = 0;

  // Of the table; rises with each change of it.
  virtual std::uint64_t epoch() const = 0;

  // Whether rights are checked at all.
  virtual bool enabled() const = 0;
};

}  // namespace gcoord::server
