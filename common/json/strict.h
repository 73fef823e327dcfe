// A reader of JSON of a fixed form from a sender who is not trusted: every member once, of its
// kind, in its one spelling, and none besides.
//
// The first error is kept with its place ("/shard_head/root"); later reads then return empty
// values. One thread.
#pragma once

#include "common/json/value.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord {

class StrictObject {
 public:
  using Hash = std::array<std::byte, 32>;  // SHA-256.

  // `place` is the object's own, "" for the outermost. `wrong` outlives this; it is set to the
  // first thing that is wrong, and stays empty while nothing is.
  StrictObject(const Json& json, std::string place, std::string& wrong);

  std::string text(const char* name);
  std::uint64_t number(const char* name);  // A decimal string.
  std::uint32_t small_number(const char* name);
  std::vector<std::byte> bytes(const char* name);  // Base64.
  Hash hash(const char* name);
  std::vector<Hash> hashes(const char* name, std::size_t count_max);
  StrictObject object(const char* name);
  std::vector<std::pair<std::string, std::string>> texts(const char* name);

  // Everything that was there has been read.
  void end();

 private:
  const Json* member(const char* name);
  void refuse(const std::string& place, const std::string& why);

  const Json* json_;
  std::string place_;
  std::string& wrong_;
  std::set<std::string> read_;
};

}  // namespace gcoord
