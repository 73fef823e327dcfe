// The one way this folder includes asio: standalone, header-only, never in a public header.
#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif

// clang-format off
// asio asks its configuration of the standard library, which must be known by then: units that
// decide otherwise than others about aligned memory give it back to the wrong allocator.
#include <cstddef>
// clang-format on

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
