#include "server/endpoints/connection_account.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::size_t kBytesMaxDefault = std::size_t{512} << 20;
constexpr std::size_t kBytesOfConnection = std::size_t{128} << 10;

std::size_t three_quarters(std::size_t of_all) {
  return std::max<std::size_t>(1, of_all - of_all / 4);
}

}  // namespace

std::size_t AccountLimits::connections_of_source() const {
  return source_connections_max != 0 ? source_connections_max : three_quarters(connections_max);
}

std::size_t AccountLimits::bytes_of_all(HeldBytes kind) const {
  const std::size_t all =
      bytes_max != 0 ? bytes_max : std::max(kBytesMaxDefault, connections_max * kBytesOfConnection);
  return kind == HeldBytes::Out ? all / 2 : all / 4;
}

std::size_t AccountLimits::bytes_of_source(HeldBytes kind) const {
  return three_quarters(bytes_of_all(kind));
}

std::array<unsigned char, 16> address_bits(const asio::ip::address& address) {
  return address.is_v4()
             ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()).to_bytes()
             : address.to_v6().to_bytes();
}

ClientSource ClientSource::of(const asio::ip::address& address) {
  ClientSource source;
  source.loopback = address.is_loopback();
  if (address.is_v4()) {
    source.bits = address_bits(address);
    return source;
  }
  const asio::ip::address_v6 six = address.to_v6();
  source.bits = six.to_bytes();
  if (six.is_v4_mapped()) {
    source.loopback = asio::ip::make_address_v4(asio::ip::v4_mapped, six).is_loopback();
  } else if (!source.loopback) {
    std::fill(source.bits.begin() + 8, source.bits.end(), 0);
  }
  return source;
}

// A multicast address calls nobody, so no client over TCP has these bits.
ClientSource ClientSource::of_user(std::uint32_t uid) {
  ClientSource source{.bits = {0xff, 'u', 'n', 'i', 'x'}, .loopback = true};
  for (std::size_t k = 0; k < sizeof(uid); ++k) {
    source.bits[source.bits.size() - 1 - k] = static_cast<unsigned char>(uid >> (8 * k));
  }
  return source;
}

ConnectionAccount::Verdict ConnectionAccount::judge(const ClientSource& source,
                                                    std::size_t source_connections) const {
  const std::size_t taken = connection_count();
  if (taken >= limits_.connections_max) {
    return Verdict::NodeFull;
  }
  if (source_connections >= limits_.connections_of_source()) {
    return Verdict::SourceFull;
  }
  if (source.loopback) {
    return Verdict::Admitted;
  }
  const std::size_t left = limits_.connections_max - taken;
  const std::size_t kept =
      source_connections < kFewConnections ? limits_.reserve() / 2 : limits_.reserve();
  return left > kept ? Verdict::Admitted : Verdict::NodeFull;
}

// Under the mutex.
ConnectionAccount::Share ConnectionAccount::take_place(const ClientSource& source) {
  auto& sums = sources_[source.bits];
  if (sums == nullptr) {
    sums = std::make_shared<SourceSums>();
    sums->source = source;
  }
  sums->connections.fetch_add(1, std::memory_order_relaxed);
  connections_.fetch_add(1, std::memory_order_relaxed);
  return Share(*this, sums);
}

ConnectionAccount::Admission ConnectionAccount::admit(const ClientSource& source) {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(source.bits);
  const std::size_t has = found == sources_.end() ? 0 : found->second->connections.load();
  const Verdict verdict = judge(source, has);
  if (verdict != Verdict::Admitted) {
    return {verdict, Share{}};
  }
  return {verdict, take_place(source)};
}

// Whoever fills its source's places does not shut out an operator behind the same address.
ConnectionAccount::Admission ConnectionAccount::admit_to_prove(const ClientSource& source) {
  const std::lock_guard lock(mutex_);
  const std::size_t operators = limits_.operators();
  const std::size_t of_host = source.loopback ? 0 : limits_.reserve() / 2 - operators;
  const auto found = sources_.find(source.bits);
  const std::size_t own = found == sources_.end() ? 0 : found->second->unsettled;
  const bool full = connection_count() + of_host >= limits_.connections_max;
  if (own >= std::max<std::size_t>(1, operators / 4)) {
    return {Verdict::SourceFull, Share{}};
  }
  if (full || unsettled_ >= operators) {
    return {Verdict::NodeFull, Share{}};
  }
  Share share = take_place(source);
  share.unsettled_ = true;
  ++share.source_->unsettled;
  ++unsettled_;
  return {Verdict::Admitted, std::move(share)};
}

void ConnectionAccount::settle(SourceSums& source) {
  const std::lock_guard lock(mutex_);
  --source.unsettled;
  --unsettled_;
}

void ConnectionAccount::leave(SourceSums& source) {
  const std::lock_guard lock(mutex_);
  connections_.fetch_sub(1, std::memory_order_relaxed);
  if (source.connections.fetch_sub(1, std::memory_order_relaxed) == 1) {
    sources_.erase(source.source.bits);
  }
}

std::size_t ConnectionAccount::source_count() const {
  const std::lock_guard lock(mutex_);
  return sources_.size();
}

void ConnectionAccount::Share::hold(HeldBytes kind, std::size_t byte_count) {
  std::size_t& held = held_[static_cast<std::size_t>(kind)];
  if (account_ == nullptr || held == byte_count) {
    return;
  }
  // Unsigned: a smaller number adds what wraps to the difference.
  const std::size_t more = byte_count - held;
  held = byte_count;
  source_->held[static_cast<std::size_t>(kind)].fetch_add(more, std::memory_order_relaxed);
  account_->held_[static_cast<std::size_t>(kind)].fetch_add(more, std::memory_order_relaxed);
}

std::size_t ConnectionAccount::Share::source_held(HeldBytes kind) const {
  return source_ == nullptr
             ? 0
             : source_->held[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
}

std::size_t ConnectionAccount::Share::source_connections() const {
  return source_ == nullptr ? 0 : source_->connections.load(std::memory_order_relaxed);
}

bool ConnectionAccount::Share::crowded(HeldBytes kind) const {
  return account_ != nullptr && (account_->crowded(kind) || source_crowded(kind));
}

bool ConnectionAccount::Share::source_crowded(HeldBytes kind) const {
  return account_ != nullptr && source_held(kind) > account_->limits_.bytes_of_source(kind);
}

bool ConnectionAccount::Share::half_full() const {
  bool half = false;
  for (std::size_t k = 0; account_ != nullptr && k < kHeldKinds; ++k) {
    const auto kind = static_cast<HeldBytes>(k);
    const AccountLimits& limits = account_->limits_;
    half = half || source_held(kind) >= limits.bytes_of_source(kind) / 2 ||
           account_->held(kind) >= limits.bytes_of_all(kind) / 2;
  }
  return half;
}

void ConnectionAccount::Share::settle() {
  if (std::exchange(unsettled_, false)) {
    account_->settle(*source_);
  }
}

void ConnectionAccount::Share::give_back() {
  if (account_ == nullptr) {
    return;
  }
  settle();
  for (std::size_t kind = 0; kind < kHeldKinds; ++kind) {
    hold(static_cast<HeldBytes>(kind), 0);
  }
  account_->leave(*source_);
  account_ = nullptr;
  source_ = nullptr;
}

void ConnectionAccount::Share::swap(Share& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(source_, other.source_);
  std::swap(held_, other.held_);
  std::swap(unsettled_, other.unsettled_);
}

}  // namespace gcoord::server
