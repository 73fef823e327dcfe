// One peer over UCX: a worker, an endpoint, messages out and in. Part of transport_ucx.
//
// Messages go out as active messages from buffers that are reused, at most kUcxInFlightBytesMax at
// once; over 16 KiB UCX itself turns to rendezvous. Messages come in whole and in order, although a
// rendezvous may finish after a later small one: each waits for its turn. With seal() a message is
// a record from the one buffer to the other, by whichever way UCX takes it. Not thread-safe; all
// callbacks of UCX run inside progress() and the destructor.
#pragma once

#include "common/status.h"
#include "netcore/channel/message_sink.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/transport/sealed_frames.h"
#include "netcore/transport/ucx_library.h"

#include <ucp/api/ucp.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {

// Four full frames: enough to keep a pipe busy, little enough that urgent frames overtake.
inline constexpr std::size_t kUcxInFlightBytesMax = std::size_t{4} << 20;

// Owns the UCX library context that the lanes of one transport share.
class UcxContext {
 public:
  static Result<std::unique_ptr<UcxContext>> create(const std::string& transports,
                                                    const std::string& net_devices);
  ~UcxContext();
  UcxContext(const UcxContext&) = delete;
  UcxContext& operator=(const UcxContext&) = delete;

  ucp_context_h get() const { return context_; }

  const UcxLibrary& library() const { return ucx_; }

 private:
  UcxContext(const UcxLibrary& ucx, ucp_context_h context) : ucx_(ucx), context_(context) {}

  const UcxLibrary& ucx_;
  ucp_context_h context_;
};

class UcxLane {
 public:
  static Result<std::unique_ptr<UcxLane>> create(const UcxContext& context);
  ~UcxLane();
  UcxLane(const UcxLane&) = delete;
  UcxLane& operator=(const UcxLane&) = delete;

  // What the peer needs to reach this worker.
  std::span<const std::byte> address() const { return address_; }

  // `remote` is the address() of a peer that has been greeted: UCX trusts it.
  Status connect(std::span<const std::byte> remote);

  // Before anything is sent or received: every message is a record of these from here on.
  void seal(std::unique_ptr<SealedFrames> records) { records_ = std::move(records); }

  bool is_sealed() const { return records_ != nullptr; }

  // As Transport::send.
  std::size_t send(std::span<const std::span<const std::byte>> messages);

  // Moves bytes, then delivers what is whole, in order, until `deliver` returns false. False: the
  // lane has failed; failure() says why.
  bool progress(std::uint64_t now_ms, MessageSink deliver);

  const std::string& failure() const { return failure_; }

  // Records that were refused since the last call; the lane goes on.
  std::uint64_t take_refused() { return records_ == nullptr ? 0 : records_->take_refused(); }

  int event_fd() const { return event_fd_; }

  // False: there is work, do not sleep.
  bool arm();

  // For leak tests: buffers that UCX holds now.
  std::size_t requests_under_way() const { return requests_under_way_; }

 private:
  struct Outgoing;
  struct Incoming;

  explicit UcxLane(const UcxLibrary& ucx);

  Status open(const UcxContext& context);
  ucs_status_t create_endpoint(std::span<const std::byte> remote, ucp_err_handling_mode_t mode);
  void fail(const std::string& reason);
  void on_sent(Outgoing* outgoing);
  void receive(void* bytes, std::size_t length, bool is_rendezvous);
  bool may_be_message(std::size_t length);
  bool deliver_one(std::span<const std::byte> message, MessageSink deliver);
  Incoming* next_incoming(std::size_t length);
  void close_endpoint();

  static ucs_status_t on_message(void* lane,
                                 const void* header,
                                 std::size_t header_length,
                                 void* bytes,
                                 std::size_t length,
                                 const ucp_am_recv_param_t* param);
  static void on_send_complete(void* request, ucs_status_t status, void* outgoing);
  static void on_receive_complete(void* request,
                                  ucs_status_t status,
                                  std::size_t length,
                                  void* incoming);
  static void on_endpoint_error(void* lane, ucp_ep_h endpoint, ucs_status_t status);

  const UcxLibrary& ucx_;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  bool can_close_by_force_ = false;
  int event_fd_ = -1;
  std::vector<std::byte> address_;
  std::string failure_;
  std::unique_ptr<SealedFrames> records_;  // nullptr: messages travel as they are.
  std::uint64_t now_ms_ = 0;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  // All buffers ever made.
  std::vector<Outgoing*> outgoing_free_;
  std::size_t in_flight_bytes_ = 0;
  std::size_t requests_under_way_ = 0;
  std::deque<std::unique_ptr<Incoming>> incoming_;  // In order of arrival.
  std::vector<std::unique_ptr<Incoming>> incoming_free_;
};

}  // namespace gcoord::netcore
