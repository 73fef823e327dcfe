// Cluster and client status for C, under the rules of gcoord/gcoord.h.
//
// Only gcoord_client_wait_for_all_nodes waits; everything else is what the client knows already.
// docs/reference/client.md has the states of the circuit breaker.
//
//  gcoord_cluster_look(client, &view, &error);
//  for (size_t i = 0; i < gcoord_cluster_view_nodes(view); ++i) {
//    show(gcoord_cluster_view_node(view, i));
//  }
//  gcoord_cluster_view_free(view);
#pragma once

#include "gcoord/gcoord.h"

#ifdef __cplusplus
extern "C" {
#endif

// State of the circuit breaker of one endpoint. CLOSED: requests go there. OPEN: they go to other
// nodes, or wait. HALF_OPEN: one request is on its way there as a test. Never renumber.
enum { GCOORD_BREAKER_CLOSED = 0, GCOORD_BREAKER_OPEN = 1, GCOORD_BREAKER_HALF_OPEN = 2 };

// State of the cluster as the client saw it at one moment.
typedef struct gcoord_cluster_view gcoord_cluster_view;

// Settings of the cluster, as its nodes state them.
typedef struct gcoord_cluster_facts {
  uint64_t cluster_id;
  uint32_t shard_count;
  int64_t tick_ms;
  int64_t election_timeout_ms;
  int64_t ttl_min_ms;  // Bounds of the TTL of a session.
  int64_t ttl_max_ms;
} gcoord_cluster_facts;

// One node as the client sees it.
typedef struct gcoord_node {
  uint32_t node_id;     // 0: not known; it never answered.
  const char* address;  // Lives as long as the view, as the next does.
  bool connected;
  int32_t breaker;         // GCOORD_BREAKER_CLOSED and its neighbours.
  const char* last_error;  // Why it is not connected, or its breaker not closed; "": it is.
} gcoord_node;

// Takes a snapshot of the client's knowledge of its cluster and makes *view, which the caller
// frees. Asks no node.
GCOORD_API gcoord_status gcoord_cluster_look(gcoord_client* client,
                                             gcoord_cluster_view** view,
                                             gcoord_error* error);

// Frees the view. NULL is allowed.
GCOORD_API void gcoord_cluster_view_free(gcoord_cluster_view* view);

// The settings of the cluster; zeros for NULL.
GCOORD_API gcoord_cluster_facts gcoord_cluster_view_facts(const gcoord_cluster_view* view);

// The number of nodes that the client knows.
GCOORD_API size_t gcoord_cluster_view_nodes(const gcoord_cluster_view* view);

// One of the nodes, index < gcoord_cluster_view_nodes(); zeros and "" beyond the end. Text lives as
// long as the view.
GCOORD_API gcoord_node gcoord_cluster_view_node(const gcoord_cluster_view* view, size_t index);

// Waits until every node of the cluster is connected; GC3001 at the timeout. timeout_ms is 0 to a
// day (GC1001).
GCOORD_API gcoord_status gcoord_client_wait_for_all_nodes(gcoord_client* client,
                                                          int64_t timeout_ms,
                                                          gcoord_error* error);

// Counters since the client was connected; they only rise.
typedef struct gcoord_statistics {
  uint64_t requests;    // Sent, retries included.
  uint64_t frames;      // In which they were sent.
  uint64_t retries;     // Sent again after a back-off.
  uint64_t redirects;   // Sent again to the leader that a node named.
  uint64_t moves;       // Sent again to the shard where a lock was moved to.
  uint64_t reconnects;  // Connections lost after they were up.
} gcoord_statistics;

// Fills *statistics with the present counters. Asks no node.
GCOORD_API gcoord_status gcoord_client_statistics(gcoord_client* client,
                                                  gcoord_statistics* statistics,
                                                  gcoord_error* error);

#ifdef __cplusplus
}
#endif
