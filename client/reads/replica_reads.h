// Reads with a freshness of the caller's choice, as asynchronous calls. Thread-safe; callbacks run
// on the client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/reads.h"
#include "protocol/read_messages.h"

#include <string>
#include <vector>

namespace gcoord::client {

// The result of a read of many names: answers in the order asked, shards by rising number.
struct ReadOutcome {
  std::vector<protocol::NameAnswer> answers;
  std::vector<Freshness> shards;
};

struct ReadRequest {
  protocol::ReadQuestion question{};
  std::vector<TokenCheck> names;  // Tokens are 0 unless verdicts are asked for.
  ReadOptions options;
};

// One message per node that may answer and kReadNamesMax names; what a node turns out not to lead
// is asked shard by shard. Fails when any of the names could not be read.
void read_locks(Core& core, ReadRequest request, Callback<Result<ReadOutcome>> callback);

void read_list(Core& core,
               NodeId node,
               const ListOptions& list,
               const ReadOptions& options,
               Callback<Result<ReadPage>> callback);

// Of a reply's shard.
Freshness freshness_of(const protocol::ShardAnswer& shard);

}  // namespace gcoord::client
