#include "cli/gcoordd/shown_configuration.h"

#include "server/options/effective_options.h"

#include <utility>

namespace gcoord {

void ShownConfiguration::show(server::Invocation running, const server::NodeOptions& found) {
  running.options.data_dir = found.data_dir;
  running.options.tls = found.tls;
  running.options.listen_client = found.listen_client;
  running.options.listen_peer = found.listen_peer;
  running.options.listen_metrics = found.listen_metrics;
  running.options.listen_ledger = found.listen_ledger;
  std::string text = server::published_toml(running);
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

std::string ShownConfiguration::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

}  // namespace gcoord
