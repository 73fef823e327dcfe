// libcurl, opened at the first request and not before.
//
// libcurl of Debian brings 30 other libraries, for protocols that nobody here speaks. Linked, each
// start of gcoordctl would load them, and a bundle would carry them. So this compiles against the
// headers and opens libcurl.so.4 when a program makes its first request; a program that makes none
// does not need it (docs/adr/0087). The members have libcurl's own names without the prefix
// (multi_read: curl_multi_info_read).
#pragma once

#include "common/status.h"

#include <curl/curl.h>

namespace gcoord {

struct CurlLibrary {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_header) easy_header = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_setopt) multi_setopt = nullptr;
  decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&curl_multi_perform) multi_perform = nullptr;
  decltype(&curl_multi_info_read) multi_read = nullptr;
  decltype(&curl_multi_poll) multi_poll = nullptr;
  decltype(&curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_url) url = nullptr;
  decltype(&curl_url_set) url_set = nullptr;
  decltype(&curl_url_cleanup) url_cleanup = nullptr;
};

// Opens and initialises the library at the first call; it stays until the process ends. Unavailable
// where there is none, or one older than 7.87. Thread-safe.
Result<const CurlLibrary*> load_curl_library();

}  // namespace gcoord
