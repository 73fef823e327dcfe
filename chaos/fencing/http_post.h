// JSON requests to one server over one kept connection: as much of HTTP/1.1 as etcd's gateway
// needs. Blocking; one thread per object.
#pragma once

#include "common/status.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

namespace gcoord::chaos {

class HttpPost {
 public:
  // "127.0.0.1:port"; connects at the first request, and again after a failure.
  explicit HttpPost(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  ~HttpPost();
  HttpPost(const HttpPost&) = delete;
  HttpPost& operator=(const HttpPost&) = delete;

  // Unavailable when no whole answer came in time; the request may have been executed. Aborted when
  // the server answered with an error.
  Result<nlohmann::json> post(const std::string& path,
                              const nlohmann::json& body,
                              std::chrono::milliseconds timeout);

 private:
  Status connect(std::chrono::milliseconds timeout);
  Result<std::string> exchange(const std::string& request);
  void disconnect();

  std::string endpoint_;
  int fd_ = -1;
};

// As the gateway has bytes in JSON.
std::string to_base64(const std::string& bytes);

}  // namespace gcoord::chaos
