// Common parts of the examples: the cluster that GCOORD_ENDPOINTS names, and an exit with a reason.
#pragma once

#include "gcoord/client.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

namespace example {

// Ends the program with the reason when something did not work.
inline void expect(bool condition, const std::string& what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what.c_str());
    std::exit(1);
  }
}

// The value of a Result, or the end.
template <typename T>
T value_of(gcoord::client::Result<T> result) {
  expect(result.ok(), result.status().to_string());
  return std::move(result).value();
}

inline gcoord::client::ClientOptions options() {
  const char* variable = std::getenv("GCOORD_ENDPOINTS");
  std::istringstream endpoints(variable != nullptr ? variable : "127.0.0.1:7400");
  gcoord::client::ClientOptions options;
  for (std::string endpoint; std::getline(endpoints, endpoint, ',');) {
    options.endpoints.push_back(endpoint);
  }
  return options;
}

inline gcoord::client::Client connect() {
  return value_of(gcoord::client::Client::connect(options()));
}

}  // namespace example
