// A callable that takes a message, by reference and without allocation: what std::function_ref will
// be. Valid only during the call it is passed to. The answer false says: stop, the link is gone.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace gcoord::netcore {

class MessageSink {
 public:
  // Implicit on purpose, so that a lambda can be passed as it stands. The callable outlives the
  // call.
  template <typename Callable>
  MessageSink(Callable&& callable)  // NOLINT(google-explicit-constructor)
      : callable_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* target, std::span<const std::byte> message) {
          return (*static_cast<std::remove_reference_t<Callable>*>(target))(message);
        }) {}

  bool operator()(std::span<const std::byte> message) const { return call_(callable_, message); }

 private:
  void* callable_;
  bool (*call_)(void*, std::span<const std::byte>);
};

}  // namespace gcoord::netcore
