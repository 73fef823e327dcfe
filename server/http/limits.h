// Limits of one HTTP port: what clients may take of a node, alone and together.
//
// One set for every port, so that a limit is added once. A request has no body: one with a body is
// answered with 413 before any of it is read. Plain values; thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gcoord::server {

struct HttpServerLimits {
  // Requests answered at once, each by a thread. Connections that only wait take none.
  std::uint32_t threads = 2;

  // Open connections in all, and of one source: an IPv4 address, or the /64 of an IPv6 address. At
  // either limit a newcomer replaces the connection that has waited longest for a request; where
  // all of them are being answered it gets one of the spare ones.
  std::uint32_t connections = 256;
  std::uint32_t connections_per_source = 128;

  // Beyond both, for newcomers that would be refused: they get the pages that are answered at once,
  // such as those of health, and 503 for others. One of them is answered in no time, and makes room
  // while it waits, so that a few are enough.
  std::uint32_t spare_connections = 8;

  // Memory for a request's line and its headers, with what the library notes of them. A request
  // of half as many bytes fits, one of more is answered with 414 or 431. Prometheus sends 400.
  std::size_t header_bytes = 8192;

  // From the opened connection to the end of the first request's header. It counts the whole, so
  // that a byte now and then extends nothing.
  std::chrono::milliseconds header_time{10'000};

  // From that to the last byte of the answer, however slowly the client reads it.
  std::chrono::milliseconds request_time{60'000};

  // From the end of an answer to the end of the next header on the same connection.
  std::chrono::milliseconds idle_time{30'000};
};

}  // namespace gcoord::server
