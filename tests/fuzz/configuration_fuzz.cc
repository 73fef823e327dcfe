// A configuration file: TOML, keys, and every option's own judgement of its value.
#include "protocol/error_codes.h"
#include "server/options/option_sources.h"
#include "server/options/option_table.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <string>
#include <string_view>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::server;  // NOLINT

constexpr std::string_view kSeed = R"(# A comment.
node_id = 2
cluster_name = "example"
peer = ["1=127.0.0.1:7501,127.0.0.1:7401", "3=[::1]:7503"]
listen_peer = "127.0.0.1:7502"
listen_metrics = "off"
insecure = false
data_dir = "/var/lib/gcoord"
shards = 65536
tick_ms = 10
checkpoint_interval = "30s"
ledger_keep = "age:7d,bytes:1GiB"
session_ttl_max = "24h"
cluster_id = 9223372036854775807
peer_transport = "ucx"
log_level = "info,peers=debug"
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), byte_count);
  const auto given = parse_toml(text, "fuzz.toml");
  if (!given.ok()) {
    GCOORD_ASSERT(protocol::find_error(given.status().detail()) != nullptr);
    return 0;
  }
  NodeOptions options;
  for (const GivenOption& option : given.value()) {
    const OptionRow* row = find_option(option.name);
    GCOORD_ASSERT(row != nullptr);
    const Status status = row->apply(option.text, options);
    GCOORD_ASSERT(status.ok() || !status.message().empty());
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  return {FuzzInput(kSeed.begin(), kSeed.end()), FuzzInput{'p', 'e', 'e', 'r', '=', '[', ']'}};
}
