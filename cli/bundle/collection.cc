#include "cli/bundle/collection.h"

#include "cli/doctor/inquiry.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

// How long the nodes beyond the first get to connect, and an address to say whose it is.
constexpr milliseconds kOthersTimeout{1000};
constexpr milliseconds kAddressTimeout{2000};

constexpr std::size_t kThreadsMax = 16;

// What supporters can still receive, and a machine still hold in memory.
constexpr std::uint64_t kBundleBytesMax = std::uint64_t{256} << 20;

std::uint64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

// Calls body(0) to body(count - 1), several at once.
void for_each_index(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < std::min(count, kThreadsMax); ++thread) {
    threads.emplace_back([&] {
      for (std::size_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) {
        body(index);
      }
    });
  }
}

// Where the target's pages are: as the user named them, or by what the node reports.
Result<HttpAddress> pages_of(const CollectionRequest& request,
                             const BundleTarget& target,
                             const Json& report) {
  if (target.http.has_value()) {
    return *target.http;
  }
  GCOORD_TRY(HttpAddress address, http_address_of(target.view.address, report));
  address.tls = request.tls;
  return address;
}

// Asks the pages of the targets that nobody knows which nodes they are, so that two names of one
// node do not become two nodes, whose samples would refuse each other. Where all are known, nobody
// waits.
void identify(const CollectionRequest& request, std::vector<BundleTarget>& targets) {
  const milliseconds timeout = std::min(kAddressTimeout, request.deadline.left() / 4);
  for_each_index(targets.size(), [&](std::size_t index) {
    BundleTarget& target = targets[index];
    if (target.view.node_id != 0) {
      return;
    }
    const auto address = pages_of(request, target, Json{});
    target.identity = address.ok() ? identity_at(address.value(), timeout) : std::nullopt;
  });
}

std::vector<BundleTarget> find_targets(const CollectionRequest& request,
                                       const client::ClusterView& view) {
  std::vector<BundleTarget> targets = targets_of(view.nodes, request.endpoints, request.metrics);
  identify(request, targets);
  return merge_names(std::move(targets), view.cluster_id);
}

NodeFacts ask(const CollectionRequest& request, const client::NodeView& view) {
  if (request.client != nullptr && !view.address.empty() && !request.deadline.over()) {
    return ask_node(*request.client, view);
  }
  return {.node = view.node_id,
          .endpoint = view.address,
          .error = request.client == nullptr ? request.client_error : "not asked"};
}

// The one node of an index, all of it. Several threads at once, each with another node.
BundleContent collect_node(const CollectionRequest& request,
                           CollectedNode& node,
                           ByteBudget& budget) {
  const client::NodeView& view = node.target.view;
  node.facts = ask(request, view);
  const auto address = pages_of(request, node.target, node.facts.report);
  if (!address.ok()) {
    return {.files = {}, .gaps = no_pages(node.folder, view.node_id, address.status().message())};
  }
  node.url = url_of(address.value());
  return read_pages({.address = address.value(),
                     .folder = node.folder,
                     .node = view.node_id,
                     .expected = node.target.identity.value_or(NodeIdentity{}),
                     .sample = request.sample,
                     .deadline = &request.deadline,
                     .budget = &budget});
}

void append(BundleContent& into, BundleContent from) {
  std::ranges::move(from.files, std::back_inserter(into.files));
  std::ranges::move(from.gaps, std::back_inserter(into.gaps));
}

Json status_json(const client::ClusterView& view, const std::vector<CollectedNode>& nodes) {
  Json list = Json::array();
  for (const CollectedNode& node : nodes) {
    Json json = {{"node", node.facts.node},
                 {"endpoint", node.facts.endpoint},
                 {"reachable", node.facts.reachable()}};
    if (node.facts.reachable()) {
      merge_members(json, node.facts.report);
    } else {
      json["error"] = node.facts.error;
    }
    list.push_back(std::move(json));
  }
  return {{"cluster_id", std::to_string(view.cluster_id)},
          {"shards", view.shard_count},
          {"tick_ms", view.tick.count()},
          {"election_ms", view.election_timeout.count()},
          {"ttl_min_ms", view.ttl_min.count()},
          {"ttl_max_ms", view.ttl_max.count()},
          {"nodes", list}};
}

Json doctor_json(const client::ClusterView& view, const std::vector<CollectedNode>& nodes) {
  ClusterFacts facts{.shard_count = view.shard_count};
  for (const CollectedNode& node : nodes) {
    if (node.facts.node == 0) {
      facts.unknown_endpoints.push_back(node.facts.endpoint);
    } else {
      facts.nodes.push_back(node.facts);
    }
  }
  return examination_json(facts, examine(facts, ExaminationLimits{}));
}

// What is told of the cluster as a whole, from the reports of its nodes.
BundleContent cluster_files(const CollectionRequest& request, const Collection& found) {
  BundleContent content;
  for (const CollectedNode& node : found.nodes) {
    if (!node.facts.reachable()) {
      content.gaps.push_back({.name = "status.json",
                              .node = node.target.view.node_id,
                              .why = node.facts.endpoint + ": " + node.facts.error});
    }
  }
  if (request.client == nullptr) {
    content.gaps.push_back({.name = "doctor.json", .why = request.client_error});
    return content;
  }
  const std::uint64_t now_ms = unix_ms();
  const auto add = [&](const char* name, const Json& json) {
    content.files.push_back({.name = name,
                             .content = json.dump(1) + "\n",
                             .source = "client protocol",
                             .begun_ms = found.begun_ms,
                             .took_ms = now_ms - std::min(now_ms, found.begun_ms)});
  };
  add("status.json", status_json(found.view, found.nodes));
  add("doctor.json", doctor_json(found.view, found.nodes));
  return content;
}

}  // namespace

bool Collection::complete() const {
  return std::ranges::none_of(content.gaps, &BundleGap::failed);
}

bool Collection::all_reachable() const {
  return std::ranges::all_of(nodes,
                             [](const CollectedNode& node) { return node.facts.reachable(); });
}

Collection collect(const CollectionRequest& request) {
  Collection found{.begun_ms = unix_ms(), .sample = request.sample};
  if (request.client != nullptr) {
    static_cast<void>(
        request.client->wait_for_all_nodes(std::min(kOthersTimeout, request.deadline.left())));
    found.view = request.client->cluster();
  }
  const std::vector<BundleTarget> targets = find_targets(request, found.view);
  const std::vector<std::string> folders = folders_of(targets);
  for (std::size_t index = 0; index < targets.size(); ++index) {
    found.nodes.push_back({.target = targets[index], .folder = folders[index]});
  }
  ByteBudget budget(kBundleBytesMax);
  std::vector<BundleContent> contents(targets.size());
  for_each_index(targets.size(), [&](std::size_t index) {
    contents[index] = collect_node(request, found.nodes[index], budget);
  });
  append(found.content, cluster_files(request, found));
  for (BundleContent& content : contents) {
    append(found.content, std::move(content));
  }
  std::ranges::sort(found.content.files, {}, &BundleFile::name);
  std::ranges::stable_sort(found.content.gaps, {}, &BundleGap::name);
  const std::uint64_t now_ms = unix_ms();
  found.took_ms = now_ms - std::min(now_ms, found.begun_ms);
  return found;
}

}  // namespace gcoord::cli
