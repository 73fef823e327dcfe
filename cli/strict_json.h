// Reading JSON of a fixed form from somebody who is not trusted: every member once, of its kind, in
// its one spelling, and none besides.
//
// What is wrong is kept with its place ("/shard_head/root"); later reads then answer with nothings.
// One thread.
#pragma once

#include "common/status.h"
#include "ledger/merkle_hash.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

using StrictJson = nlohmann::ordered_json;  // Of files; cli/json.h is for what verbs print.

// The value, if the text is JSON and no object has a name twice; else why it is not, with the byte.
Result<StrictJson> parse_strict_json(std::string_view text);

class StrictObject {
 public:
  // `place` is the object's own, "" for the outermost. `wrong` outlives this; it is set to the
  // first thing that is wrong, and stays empty while nothing is.
  StrictObject(const StrictJson& json, std::string place, std::string& wrong);

  std::string text(const char* name);
  std::uint64_t number(const char* name);  // A decimal string.
  std::uint32_t small_number(const char* name);
  std::vector<std::byte> bytes(const char* name);  // Base64.
  ledger::MerkleHash hash(const char* name);
  std::vector<ledger::MerkleHash> hashes(const char* name, std::size_t count_max);
  StrictObject object(const char* name);
  std::vector<std::pair<std::string, std::string>> texts(const char* name);

  // Everything that was there has been read.
  void end();

 private:
  const StrictJson* member(const char* name);
  void refuse(const std::string& place, const std::string& why);

  const StrictJson* json_;
  std::string place_;
  std::string& wrong_;
  std::set<std::string> read_;
};

}  // namespace gcoord::cli
