#include "netcore/transport/ucx_library.h"

#include "common/library_symbols.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace gcoord::netcore {
namespace {

Result<const UcxLibrary*> open_library() {
  ::setenv("UCX_LOG_LEVEL", "fatal", 0);
  ::setenv("UCX_HANDLE_ERRORS", "none", 0);
  ::setenv("UCX_MEM_EVENTS", "n", 0);
  // UCX connects with a blocking connect(2) by default: a peer that is cut off would hold up the
  // turn, and one that dies between that call and the first bytes aborts the process (1.13.1
  // gives a failed endpoint the right to send and asserts that it has none). Settings of one
  // transport are read from the environment alone.
  ::setenv("UCX_TCP_CONN_NB", "y", 0);
  void* ucp = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (ucp == nullptr) {
    return Status{StatusCode::Unavailable,
                  std::string{"ucx is not available: "} + ::dlerror() + "; install libucx0"};
  }
  static UcxLibrary library;
  LibrarySymbols symbols{ucp};
  symbols.find(library.config_read, "ucp_config_read");
  symbols.find(library.config_modify, "ucp_config_modify");
  symbols.find(library.config_release, "ucp_config_release");
  symbols.find(library.init_version, "ucp_init_version");
  symbols.find(library.cleanup, "ucp_cleanup");
  symbols.find(library.worker_create, "ucp_worker_create");
  symbols.find(library.worker_destroy, "ucp_worker_destroy");
  symbols.find(library.worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  symbols.find(library.worker_get_efd, "ucp_worker_get_efd");
  symbols.find(library.worker_get_address, "ucp_worker_get_address");
  symbols.find(library.worker_release_address, "ucp_worker_release_address");
  symbols.find(library.worker_progress, "ucp_worker_progress");
  symbols.find(library.worker_arm, "ucp_worker_arm");
  symbols.find(library.ep_create, "ucp_ep_create");
  symbols.find(library.ep_close_nbx, "ucp_ep_close_nbx");
  symbols.find(library.am_send_nbx, "ucp_am_send_nbx");
  symbols.find(library.am_receive, "ucp_am_recv_data_nbx");
  symbols.find(library.request_check_status, "ucp_request_check_status");
  symbols.find(library.request_free, "ucp_request_free");
  symbols.find(library.status_string, "ucs_status_string");
  if (!symbols.missing().empty()) {
    return Status{StatusCode::Unavailable,
                  "ucx is too old: " + symbols.missing() + " is missing; install libucx0 1.13"};
  }
  return &library;
}

}  // namespace

Result<const UcxLibrary*> load_ucx_library() {
  static const Result<const UcxLibrary*> library = open_library();
  return library;
}

}  // namespace gcoord::netcore
