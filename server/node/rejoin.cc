#include "server/node/rejoin.h"

#include "ledger/base/error_details.h"
#include "ledger/directory/damaged_directory.h"
#include "ledger/directory/real_directory.h"
#include "server/interfaces/errors.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"

namespace gcoord::server {

Result<std::unique_ptr<Node>> open_node(const NodeOptions& given, const ProcessTexts& texts) {
  NodeOptions options = given;
  GCOORD_TRY(options.data_dir, ledger::real_directory(given.data_dir));
  const ledger::NodeIdentity identity{
      options.cluster, options.node, options.shards, options.durability == Durability::Durable};
  if (options.rejoin) {
    GCOORD_TRY_STATUS(ledger::resume_replacement({options.data_dir, identity, draw_random()}));
  }
  auto node = Node::open(options, texts);
  if (node.ok() || !options.rejoin || !ledger::is_rot(node.status().detail())) {
    return node;
  }
  log_warning(LogComponent::Disk,
              "{}; moves it to {} and fetches its content from the other nodes",
              node.status().message(),
              ledger::damaged_path(options.data_dir));
  GCOORD_TRY_STATUS(ledger::replace_damaged({options.data_dir, identity, draw_random()}));
  return Node::open(options, texts);
}

bool is_taken_over(const Status& ended) {
  const bool repairs =
      ended.code() == StatusCode::Aborted && ended.detail() == ledger::kHistoryRepair;
  return repairs || ended.detail() == kDirectoryTakenOver;
}

}  // namespace gcoord::server
