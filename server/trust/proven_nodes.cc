#include "server/trust/proven_nodes.h"

#include "security/secret/file.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

namespace gcoord::server {
namespace {

constexpr std::string_view kName = "proven.nodes";
constexpr std::size_t kBytesMax = 65'536 * 8;  // A line for each id that there can be.
constexpr std::uint32_t kNodeIdMax = 65'535;

// The numbers of the lines; what is no number is passed over.
std::vector<NodeId> parse(std::string_view text) {
  std::vector<NodeId> nodes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + end, number);
    if (number != 0 && number <= kNodeIdMax) {
      nodes.emplace_back(number);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::string text_of(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) {
    text += std::to_string(node.value) + "\n";
  }
  return text;
}

}  // namespace

ProvenNodes::ProvenNodes(const std::string& data_dir) : path_(data_dir + "/" + std::string{kName}) {
  const auto read = security::read_secret_file(path_, kBytesMax);
  if (read.ok()) {
    nodes_ = parse(read.value().text());
  } else if (read.status().code() != StatusCode::NotFound) {
    log_warning(LogComponent::Peers,
                "which nodes have proven themselves before is not known: {}",
                read.status().message());
  }
}

void ProvenNodes::add(NodeId node) {
  const auto place = std::ranges::lower_bound(nodes_, node);
  if (place != nodes_.end() && *place == node) {
    return;
  }
  nodes_.insert(place, node);
  const std::string text = text_of(nodes_);
  const Status written = security::write_secret_file(path_, std::as_bytes(std::span{text}));
  if (!written.ok()) {
    log_warning(LogComponent::Peers,
                "that node {} has proven itself is forgotten with this process: {}",
                node.value,
                written.message());
  }
}

}  // namespace gcoord::server
