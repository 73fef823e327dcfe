#include "netcore/transport/ucx_lane.h"

#include "common/assert.h"
#include "netcore/channel/frame.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gcoord::netcore {
namespace {

constexpr unsigned kFrameMessageId = 1;

// Bounds on one call, so that a fast peer cannot hold the turn loop.
constexpr int kProgressRoundsMax = 64;
// An endpoint that is closed by force needs a few rounds to give back its requests; the worker's
// destruction sweeps what is left.
constexpr int kCloseRoundsMax = 10'000;

Status ucx_failure(const UcxLibrary& ucx, const char* what, ucs_status_t status) {
  return {StatusCode::Unavailable, std::string{"ucx: "} + what + ": " + ucx.status_string(status)};
}

// What the user has set in the environment stays.
void set_default(const UcxLibrary& ucx,
                 ucp_config_t* config,
                 const char* name,
                 const std::string& value) {
  const std::string variable = std::string{"UCX_"} + name;
  if (!value.empty() && std::getenv(variable.c_str()) == nullptr) {
    ucx.config_modify(config, name, value.c_str());
  }
}

}  // namespace

struct UcxLane::Outgoing {
  UcxLane* lane = nullptr;
  AlignedBytes bytes;
  std::size_t length = 0;
};

struct UcxLane::Incoming {
  UcxLane* lane = nullptr;
  AlignedBytes bytes;
  std::size_t length = 0;
  bool is_whole = false;
};

Result<std::unique_ptr<UcxContext>> UcxContext::create(const std::string& transports,
                                                       const std::string& net_devices) {
  GCOORD_TRY(const UcxLibrary* library, load_ucx_library());
  const UcxLibrary& ucx = *library;
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx.config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) {
    return ucx_failure(ucx, "configuration", status);
  }
  set_default(ucx, config, "TLS", transports);
  set_default(ucx, config, "NET_DEVICES", net_devices);
  set_default(ucx, config, "RNDV_THRESH", "16384");  // Larger payloads go by rendezvous.
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  status = ucx.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
  ucx.config_release(config);
  if (status != UCS_OK) {
    return ucx_failure(ucx, ("no transport among " + transports).c_str(), status);
  }
  return std::unique_ptr<UcxContext>{new UcxContext{ucx, context}};
}

UcxContext::~UcxContext() {
  ucx_.cleanup(context_);
}

Result<std::unique_ptr<UcxLane>> UcxLane::create(const UcxContext& context) {
  std::unique_ptr<UcxLane> lane{new UcxLane{context.library()}};
  GCOORD_TRY_STATUS(lane->open(context));
  return lane;
}

Status UcxLane::open(const UcxContext& context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucs_status_t status = ucx_.worker_create(context.get(), &params, &worker_);
  if (status != UCS_OK) {
    worker_ = nullptr;
    return ucx_failure(ucx_, "worker", status);
  }
  ucp_am_handler_param_t receiver{};
  receiver.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                        UCP_AM_HANDLER_PARAM_FIELD_ARG;
  receiver.id = kFrameMessageId;
  receiver.cb = &UcxLane::on_message;
  receiver.arg = this;
  status = ucx_.worker_set_am_recv_handler(worker_, &receiver);
  if (status == UCS_OK) {
    status = ucx_.worker_get_efd(worker_, &event_fd_);
  }
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  if (status == UCS_OK) {
    status = ucx_.worker_get_address(worker_, &address, &length);
  }
  if (status != UCS_OK) {
    return ucx_failure(ucx_, "worker", status);
  }
  const auto* start = reinterpret_cast<const std::byte*>(address);
  address_.assign(start, start + length);
  ucx_.worker_release_address(worker_, address);
  return {};
}

UcxLane::UcxLane(const UcxLibrary& ucx) : ucx_(ucx) {}

UcxLane::~UcxLane() {
  close_endpoint();
  if (worker_ != nullptr) {
    ucx_.worker_destroy(worker_);
  }
}

void UcxLane::close_endpoint() {
  if (endpoint_ == nullptr || !can_close_by_force_) {
    return;  // Without force a close waits for the peer, who may be dead; the worker frees it.
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  ucs_status_ptr_t request = ucx_.ep_close_nbx(endpoint_, &param);
  endpoint_ = nullptr;
  const auto is_pending = [&] {
    return requests_under_way_ != 0 ||
           (UCS_PTR_IS_PTR(request) && ucx_.request_check_status(request) == UCS_INPROGRESS);
  };
  for (int round = 0; round < kCloseRoundsMax && is_pending(); ++round) {
    ucx_.worker_progress(worker_);
  }
  if (UCS_PTR_IS_PTR(request)) {
    ucx_.request_free(request);
  }
}

ucs_status_t UcxLane::create_endpoint(std::span<const std::byte> remote,
                                      ucp_err_handling_mode_t mode) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(remote.data());
  params.err_mode = mode;
  params.err_handler.cb = &UcxLane::on_endpoint_error;
  params.err_handler.arg = this;
  const ucs_status_t status = ucx_.ep_create(worker_, &params, &endpoint_);
  if (status != UCS_OK) {
    endpoint_ = nullptr;
  }
  return status;
}

Status UcxLane::connect(std::span<const std::byte> remote) {
  GCOORD_ASSERT(endpoint_ == nullptr);
  ucs_status_t status = create_endpoint(remote, UCP_ERR_HANDLING_MODE_PEER);
  can_close_by_force_ = status == UCS_OK;
  if (status == UCS_ERR_UNREACHABLE) {
    // Shared memory in UCX 1.13 cannot report a dead peer. The link's pulse does that for it.
    status = create_endpoint(remote, UCP_ERR_HANDLING_MODE_NONE);
  }
  return status == UCS_OK ? Status{} : ucx_failure(ucx_, "endpoint", status);
}

std::size_t UcxLane::send(std::span<const std::span<const std::byte>> messages) {
  std::size_t taken = 0;
  for (; taken < messages.size(); ++taken) {
    const std::span<const std::byte> message = messages[taken];
    const std::size_t length =
        records_ == nullptr ? message.size() : SealedFrames::record_bytes(message.size());
    if (endpoint_ == nullptr || !failure_.empty() ||
        in_flight_bytes_ + length > kUcxInFlightBytesMax) {
      break;
    }
    if (outgoing_free_.empty()) {
      outgoing_.push_back(std::make_unique<Outgoing>());
      outgoing_.back()->lane = this;
      outgoing_free_.push_back(outgoing_.back().get());
    }
    Outgoing* outgoing = outgoing_free_.back();
    outgoing_free_.pop_back();
    outgoing->bytes.reserve(length, 0);
    outgoing->length = length;
    if (records_ == nullptr) {
      std::copy(message.begin(), message.end(), outgoing->bytes.data());
    } else {
      records_->seal(message, {outgoing->bytes.data(), length}, now_ms_);
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = &UcxLane::on_send_complete;
    param.user_data = outgoing;
    in_flight_bytes_ += length;
    ++requests_under_way_;
    const ucs_status_ptr_t request = ucx_.am_send_nbx(
        endpoint_, kFrameMessageId, nullptr, 0, outgoing->bytes.data(), length, &param);
    if (!UCS_PTR_IS_PTR(request)) {
      on_sent(outgoing);
    }
    if (UCS_PTR_IS_ERR(request)) {
      fail(ucx_.status_string(UCS_PTR_STATUS(request)));
      break;
    }
  }
  return taken;
}

void UcxLane::on_sent(Outgoing* outgoing) {
  GCOORD_ASSERT(requests_under_way_ > 0);
  --requests_under_way_;
  in_flight_bytes_ -= outgoing->length;
  outgoing_free_.push_back(outgoing);
}

void UcxLane::on_send_complete(void* request, ucs_status_t status, void* outgoing) {
  auto* sent = static_cast<Outgoing*>(outgoing);
  if (status != UCS_OK) {
    sent->lane->fail(sent->lane->ucx_.status_string(status));
  }
  sent->lane->on_sent(sent);
  sent->lane->ucx_.request_free(request);
}

UcxLane::Incoming* UcxLane::next_incoming(std::size_t length) {
  if (incoming_free_.empty()) {
    incoming_free_.push_back(std::make_unique<Incoming>());
  }
  incoming_.push_back(std::move(incoming_free_.back()));
  incoming_free_.pop_back();
  Incoming* incoming = incoming_.back().get();
  incoming->lane = this;
  incoming->bytes.reserve(length, 0);
  incoming->length = length;
  incoming->is_whole = false;
  return incoming;
}

ucs_status_t UcxLane::on_message(void* lane,
                                 const void* /*header*/,
                                 std::size_t /*header_length*/,
                                 void* bytes,
                                 std::size_t length,
                                 const ucp_am_recv_param_t* param) {
  const bool is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  static_cast<UcxLane*>(lane)->receive(bytes, length, is_rendezvous);
  return UCS_OK;
}

// Who has the keys sends no such thing; whoever sealed frames keep out may.
bool UcxLane::may_be_message(std::size_t length) {
  const std::size_t extra = records_ == nullptr ? 0 : SealedFrames::record_bytes(0);
  if (length >= kFrameHeaderBytes + extra && length <= kFrameBytesMax + extra) {
    return true;
  }
  if (records_ == nullptr) {
    fail("a message of " + std::to_string(length) + " bytes");
  } else {
    records_->refuse_length();
  }
  return false;
}

void UcxLane::receive(void* bytes, std::size_t length, bool is_rendezvous) {
  if (!may_be_message(length)) {
    return;
  }
  Incoming* incoming = next_incoming(length);
  if (!is_rendezvous) {
    std::memcpy(incoming->bytes.data(), bytes, length);
    incoming->is_whole = true;
    return;
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &UcxLane::on_receive_complete;
  param.user_data = incoming;
  ++requests_under_way_;
  const ucs_status_ptr_t request =
      ucx_.am_receive(worker_, bytes, incoming->bytes.data(), length, &param);
  if (UCS_PTR_IS_PTR(request)) {
    return;
  }
  --requests_under_way_;
  if (UCS_PTR_IS_ERR(request)) {
    fail(ucx_.status_string(UCS_PTR_STATUS(request)));
  } else {
    incoming->is_whole = true;
  }
}

void UcxLane::on_receive_complete(void* request,
                                  ucs_status_t status,
                                  std::size_t length,
                                  void* incoming) {
  auto* received = static_cast<Incoming*>(incoming);
  --received->lane->requests_under_way_;
  if (status != UCS_OK || length != received->length) {
    received->lane->fail(received->lane->ucx_.status_string(status));
  } else {
    received->is_whole = true;
  }
  received->lane->ucx_.request_free(request);
}

void UcxLane::on_endpoint_error(void* lane, ucp_ep_h /*endpoint*/, ucs_status_t status) {
  auto* failed = static_cast<UcxLane*>(lane);
  failed->fail(failed->ucx_.status_string(status));
}

void UcxLane::fail(const std::string& reason) {
  if (failure_.empty()) {
    failure_ = "ucx: " + reason;
  }
}

bool UcxLane::deliver_one(std::span<const std::byte> message, MessageSink deliver) {
  if (records_ == nullptr) {
    return deliver(message);
  }
  const auto frame = records_->open(message);
  if (!records_->failure().ok()) {
    fail(records_->failure().message() + " (GC" + std::to_string(records_->failure().detail()) +
         ")");
  }
  return !frame.has_value() || deliver(*frame);
}

bool UcxLane::progress(std::uint64_t now_ms, MessageSink deliver) {
  now_ms_ = now_ms;
  for (int round = 0; round < kProgressRoundsMax && ucx_.worker_progress(worker_) != 0; ++round) {
  }
  while (!incoming_.empty() && incoming_.front()->is_whole && failure_.empty()) {
    std::unique_ptr<Incoming> message = std::move(incoming_.front());
    incoming_.pop_front();
    const bool goes_on = deliver_one({message->bytes.data(), message->length}, deliver);
    incoming_free_.push_back(std::move(message));
    if (!goes_on) {
      return true;
    }
  }
  return failure_.empty();
}

bool UcxLane::arm() {
  const bool has_whole = !incoming_.empty() && incoming_.front()->is_whole;
  return failure_.empty() && !has_whole && ucx_.worker_arm(worker_) == UCS_OK;
}

}  // namespace gcoord::netcore
