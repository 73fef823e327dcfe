// The cluster as a client knows it, for C.
#include "client/c/border.h"
#include "client/net/failure.h"
#include "gcoord/gcoord_async.h"
#include "gcoord/gcoord_cluster.h"

using namespace gcoord::client;

struct gcoord_cluster_view {
  ClusterView view;
};

namespace {

static_assert(GCOORD_BREAKER_CLOSED == static_cast<int>(BreakerState::Closed));
static_assert(GCOORD_BREAKER_OPEN == static_cast<int>(BreakerState::Open));
static_assert(GCOORD_BREAKER_HALF_OPEN == static_cast<int>(BreakerState::HalfOpen));

Status check_timeout(std::int64_t timeout_ms) {
  constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;
  if (timeout_ms < 0 || timeout_ms > kDayMs) {
    return failure(gcoord::protocol::ErrorCode::OptionInvalid,
                   "timeout_ms is negative or longer than a day");
  }
  return {};
}

}  // namespace

gcoord_status gcoord_cluster_look(gcoord_client* client,
                                  gcoord_cluster_view** view,
                                  gcoord_error* error) {
  return border(error, {{client, "client"}, {view, "view"}}, [&]() -> Status {
    *view = new gcoord_cluster_view{client->client.cluster()};
    return {};
  });
}

void gcoord_cluster_view_free(gcoord_cluster_view* view) {
  delete view;
}

gcoord_cluster_facts gcoord_cluster_view_facts(const gcoord_cluster_view* view) {
  if (view == nullptr) {
    return {};
  }
  return {.cluster_id = view->view.cluster_id,
          .shard_count = view->view.shard_count,
          .tick_ms = view->view.tick.count(),
          .election_timeout_ms = view->view.election_timeout.count(),
          .ttl_min_ms = view->view.ttl_min.count(),
          .ttl_max_ms = view->view.ttl_max.count()};
}

size_t gcoord_cluster_view_nodes(const gcoord_cluster_view* view) {
  return view != nullptr ? view->view.nodes.size() : 0;
}

gcoord_node gcoord_cluster_view_node(const gcoord_cluster_view* view, size_t index) {
  if (index >= gcoord_cluster_view_nodes(view)) {
    return {.address = "", .last_error = ""};
  }
  const NodeView& node = view->view.nodes[index];
  return {.node_id = node.node_id,
          .address = node.address.c_str(),
          .connected = node.connected,
          .breaker = static_cast<std::int32_t>(node.breaker),
          .last_error = node.last_error.c_str()};
}

gcoord_status gcoord_client_wait_for_all_nodes(gcoord_client* client,
                                               int64_t timeout_ms,
                                               gcoord_error* error) {
  return border(error, {{client, "client"}}, [&]() -> Status {
    GCOORD_TRY_STATUS(check_timeout(timeout_ms));
    return client->client.wait_for_all_nodes(std::chrono::milliseconds{timeout_ms});
  });
}

gcoord_status gcoord_client_wait_for_all_nodes_async(gcoord_client* client,
                                                     int64_t timeout_ms,
                                                     gcoord_done_callback callback,
                                                     void* user,
                                                     gcoord_error* error) {
  return begin_change({{client, "client"}}, callback, user, error, [&]() -> Result<Future<Status>> {
    GCOORD_TRY_STATUS(check_timeout(timeout_ms));
    return client->client.wait_for_all_nodes_async(std::chrono::milliseconds{timeout_ms});
  });
}

gcoord_status gcoord_client_statistics(gcoord_client* client,
                                       gcoord_statistics* statistics,
                                       gcoord_error* error) {
  return border(error, {{client, "client"}, {statistics, "statistics"}}, [&]() -> Status {
    const ClientStatistics counted = client->client.statistics();
    *statistics = {.requests = counted.requests,
                   .frames = counted.frames,
                   .retries = counted.retries,
                   .redirects = counted.redirects,
                   .moves = counted.moves,
                   .reconnects = counted.reconnects};
    return {};
  });
}
