#include "cli/terminal/named_nodes.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace gcoord::cli {

namespace {

// How long the nodes beyond the first get to connect.
constexpr std::chrono::milliseconds kOthersTimeout{1000};

}  // namespace

std::optional<int> ask_nodes(Context& context, std::uint32_t named, const AskNode& ask) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  // One that does not answer fails when it is asked.
  static_cast<void>(client->wait_for_all_nodes(std::min(context.timeout(), kOthersTimeout)).ok());
  std::vector<std::uint32_t> nodes;
  for (const client::NodeView& node : client->cluster().nodes) {
    if (node.node_id != 0 && (named == 0 || node.node_id == named)) {
      nodes.push_back(node.node_id);
    }
  }
  if (nodes.empty()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionInvalid,
                             "--node: the cluster has no node " + std::to_string(named)));
  }
  std::ranges::sort(nodes);
  for (const std::uint32_t node : nodes) {
    ask(*client, node);
  }
  return std::nullopt;
}

int code_of(const client::Status& failure) {
  if (failure.ok()) {
    return 0;
  }
  const protocol::ErrorEntry* const entry = protocol::find_error(failure.detail());
  return static_cast<int>(entry == nullptr ? protocol::ExitCode::Negative : entry->exit);
}

}  // namespace gcoord::cli
