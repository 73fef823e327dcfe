// UCX, loaded when it is chosen and not before.
//
// A process that merely links UCX 1.13 gets its signal handlers, its hooks on mmap and madvise
// (which crash under ThreadSanitizer) and its file descriptors. So gcoord compiles against UCX's
// headers but opens libucp at run time; a node that uses another transport never sees it and does
// not need it installed. The members have UCX's own names without the prefix,
// but am_receive, whose name there is longer.
#pragma once

#include "common/status.h"

#include <ucp/api/ucp.h>

namespace gcoord::netcore {

struct UcxLibrary {
  decltype(&ucp_config_read) config_read = nullptr;
  decltype(&ucp_config_modify) config_modify = nullptr;
  decltype(&ucp_config_release) config_release = nullptr;
  decltype(&ucp_init_version) init_version = nullptr;
  decltype(&ucp_cleanup) cleanup = nullptr;
  decltype(&ucp_worker_create) worker_create = nullptr;
  decltype(&ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&ucp_worker_set_am_recv_handler) worker_set_am_recv_handler = nullptr;
  decltype(&ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&ucp_worker_progress) worker_progress = nullptr;
  decltype(&ucp_worker_arm) worker_arm = nullptr;
  decltype(&ucp_ep_create) ep_create = nullptr;
  decltype(&ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&ucp_am_send_nbx) am_send_nbx = nullptr;
  decltype(&ucp_am_recv_data_nbx) am_receive = nullptr;
  decltype(&ucp_request_check_status) request_check_status = nullptr;
  decltype(&ucp_request_free) request_free = nullptr;
  decltype(&ucs_status_string) status_string = nullptr;
};

// Opens the library at the first call; it stays until the process ends. Before that it sets those
// of UCX_LOG_LEVEL, UCX_HANDLE_ERRORS and UCX_MEM_EVENTS that the user has not set, so that UCX
// neither writes to stdout nor takes signals nor hooks the allocator. Call it at start-up, while
// the process has one thread: it may write the environment.
Result<const UcxLibrary*> load_ucx_library();

}  // namespace gcoord::netcore
