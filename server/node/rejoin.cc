#include "server/node/rejoin.h"

#include "ledger/base/error_details.h"
#include "ledger/directory/damaged_directory.h"
#include "ledger/directory/real_directory.h"
#include "server/interfaces/errors.h"
#include "server/log/output.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"
#include "server/trust/node_trust.h"

#include <utility>

namespace gcoord::server {

namespace {

ledger::DataDirectoryOptions directory_of(const NodeOptions& options) {
  return {
      options.data_dir,
      {options.cluster, options.node, options.shards, options.durability == Durability::Durable},
      draw_random()};
}

}  // namespace

Result<std::unique_ptr<Node>> open_node(Invocation given, const ProcessTexts& texts) {
  GCOORD_TRY(given.options.data_dir, ledger::real_directory(given.options.data_dir));
  auto start = node_start(given);
  const NodeOptions options = start.ok() ? start.value().options() : given.options;
  set_log_node(options);
  if (options.rejoin) {
    GCOORD_TRY_STATUS(ledger::resume_replacement(directory_of(options)));
  }
  auto node = start.ok() ? Node::open(std::move(start).value(), texts) : start.status();
  if (node.ok() || !options.rejoin || !ledger::is_rot(node.status().detail())) {
    return node;
  }
  log_warning(LogComponent::Disk,
              "{}; moves it to {} and fetches its content from the other nodes",
              node.status().message(),
              ledger::damaged_path(options.data_dir));
  GCOORD_TRY_STATUS(ledger::replace_damaged(directory_of(options)));
  GCOORD_TRY_STATUS(carry_secret(ledger::damaged_path(options.data_dir), options.data_dir));
  GCOORD_TRY(NodeStart anew, node_start(given));
  return Node::open(std::move(anew), texts);
}

bool is_taken_over(const Status& ended) {
  const bool repairs =
      ended.code() == StatusCode::Aborted && ended.detail() == ledger::kHistoryRepair;
  return repairs || ended.detail() == kDirectoryTakenOver;
}

}  // namespace gcoord::server
