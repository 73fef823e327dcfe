#include "common/http/curl_library.h"

#include "common/library_symbols.h"

#include <dlfcn.h>

#include <string>

namespace gcoord {
namespace {

Result<const CurlLibrary*> open_library() {
  void* opened = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    return Status{StatusCode::Unavailable,
                  std::string{"libcurl is not available: "} + ::dlerror() + "; install libcurl4"};
  }
  static CurlLibrary library;
  LibrarySymbols symbols{opened};
  symbols.find(library.global_init, "curl_global_init");
  symbols.find(library.easy_init, "curl_easy_init");
  symbols.find(library.easy_setopt, "curl_easy_setopt");
  symbols.find(library.easy_perform, "curl_easy_perform");
  symbols.find(library.easy_getinfo, "curl_easy_getinfo");
  symbols.find(library.easy_header, "curl_easy_header");
  symbols.find(library.easy_reset, "curl_easy_reset");
  symbols.find(library.easy_strerror, "curl_easy_strerror");
  symbols.find(library.easy_cleanup, "curl_easy_cleanup");
  symbols.find(library.slist_append, "curl_slist_append");
  symbols.find(library.slist_free_all, "curl_slist_free_all");
  symbols.find(library.multi_init, "curl_multi_init");
  symbols.find(library.multi_setopt, "curl_multi_setopt");
  symbols.find(library.multi_add_handle, "curl_multi_add_handle");
  symbols.find(library.multi_remove_handle, "curl_multi_remove_handle");
  symbols.find(library.multi_perform, "curl_multi_perform");
  symbols.find(library.multi_read, "curl_multi_info_read");
  symbols.find(library.multi_poll, "curl_multi_poll");
  symbols.find(library.multi_wakeup, "curl_multi_wakeup");
  symbols.find(library.multi_cleanup, "curl_multi_cleanup");
  symbols.find(library.url, "curl_url");
  symbols.find(library.url_set, "curl_url_set");
  symbols.find(library.url_cleanup, "curl_url_cleanup");
  if (!symbols.missing().empty()) {
    return Status{StatusCode::Unavailable,
                  "libcurl is too old: " + symbols.missing() + " is missing; install libcurl4"};
  }
  if (library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Status{StatusCode::Unavailable, "libcurl cannot be initialised"};
  }
  return &library;
}

}  // namespace

Result<const CurlLibrary*> load_curl_library() {
  static const Result<const CurlLibrary*> library = open_library();
  return library;
}

}  // namespace gcoord
