// The members of a gcoord-step request, checked as they are taken out.
//
// Every failure names the member: OptionMissing where it is absent, OptionInvalid where it is of
// the wrong kind or out of range. Numbers may be written as JSON numbers or as strings. One thread.
#pragma once

#include "common/ids.h"
#include "common/json/value.h"
#include "common/status.h"
#include "consensus/scenario/configuration_change.h"
#include "consensus/scenario/link_network.h"
#include "consensus/step/message.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

class StepFields {
 public:
  // `object` outlives this.
  explicit StepFields(const Json& object) : object_(object) {}

  bool has(const std::string& name) const { return object_.contains(name); }

  Result<std::uint64_t> number(const std::string& name) const;
  Result<std::uint64_t> number_or(const std::string& name, std::uint64_t otherwise) const;
  Result<std::uint32_t> number32_or(const std::string& name, std::uint32_t otherwise) const;
  Result<std::string> text_or(const std::string& name, const std::string& otherwise) const;
  Result<bool> flag_or(const std::string& name, bool otherwise) const;

  // A node of the cluster, 1 to node_count.
  Result<NodeId> node(const std::string& name, std::uint32_t node_count) const;
  Result<ShardId> shard(std::uint32_t shard_count) const;

  // "voters": [1, {"node": 2, "weight": 3}], "learners": [4].
  Result<consensus::scenario::Members> members() const;

  // "kinds": ["Append"]; all kinds if absent.
  Result<consensus::scenario::KindMask> kinds() const;

  // "commands": ["a", "b"].
  Result<std::vector<std::string>> commands() const;

  // "sides": [[1], [2, 3]].
  Result<std::vector<std::vector<NodeId>>> sides(std::uint32_t node_count) const;

  // A message without its ends and shard.
  Result<consensus::Message> message() const;

 private:
  const Json& object_;
};

}  // namespace gcoord::cli
