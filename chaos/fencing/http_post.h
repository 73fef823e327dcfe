// JSON requests to etcd's gateway over one kept connection. Blocking; one thread per object.
#pragma once

#include "common/http/client.h"
#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <string>

namespace gcoord::chaos {

class HttpPost {
 public:
  // "127.0.0.1:port"; connects at the first request, and again after a failure.
  explicit HttpPost(const std::string& endpoint);

  // Unavailable when no whole answer came in time; the request may have been executed. Aborted when
  // the server answered with an error.
  Result<Json> post(const std::string& path, const Json& body, std::chrono::milliseconds timeout);

 private:
  std::string endpoint_;
  HttpClient client_;
};

}  // namespace gcoord::chaos
