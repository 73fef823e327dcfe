// What a Client holds: the core, which outlives every call. See gcoord/client.h.
#pragma once

#include "client/core.h"
#include "gcoord/client.h"

#include <memory>
#include <utility>

namespace gcoord::client {

class Client::Impl {
 public:
  explicit Impl(ClientOptions options) : core_(std::make_shared<Core>(std::move(options))) {}

  ~Impl() { core_->stop(); }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::shared_ptr<Core>& core() const { return core_; }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace gcoord::client
