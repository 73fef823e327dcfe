// Cache of what principals may do: compiled once per principal and epoch of the roles.
//
// It is emptied when the epoch is another one, and when it is full: a client can have as many names
// as an authority signs certificates. One thread.
#pragma once

#include "security/credentials/principal.h"
#include "security/roles/authorize.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gcoord::server {

// Compiled rights of the largest user take some 100 kB, of most a few hundred bytes.
inline constexpr std::size_t kRightsCachedMax = 4'096;

class RightsCache {
 public:
  // Of whoever is nobody, and of a node, which is no user: no rights. Never nullptr.
  const std::shared_ptr<const security::RightsOf>& rights(const security::AccessTable& table,
                                                          const security::Principal& principal);

  // A number of a principal of the last rights(), from 1, for whoever can keep no name: another one
  // than any other principal's that the cache has had. 1: whoever is nobody, and a node.
  std::uint64_t number(const security::Principal& principal) const;

  std::size_t size() const { return users_.size(); }

 private:
  struct TextHash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::shared_ptr<const security::RightsOf> none_ = std::make_shared<const security::RightsOf>();

  struct User {
    std::shared_ptr<const security::RightsOf> rights;
    std::uint64_t number = 0;
  };

  std::unordered_map<std::string,
                     User,
                     TextHash,
                     std::equal_to<>>
      users_;  // Certificates and users: the table knows both by name.
  std::uint64_t epoch_ = 0;
  std::uint64_t number_last_ = 1;
};

}  // namespace gcoord::server
