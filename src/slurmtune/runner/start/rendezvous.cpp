// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/rendezvous.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurmtune/execute/spawn.hpp"

namespace slurmtune {

namespace {

constexpr const char* loopback = "127.0.0.1";
constexpr int port_lowest = 10'000;  // below are too many services
constexpr int port_highest = 65'535;

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, address, sizeof ipv4);
    constexpr unsigned loopback_net = 127;
    return (ntohl(ipv4.sin_addr.s_addr) >> 24U) == loopback_net;
  }
  if (address->sa_family != AF_INET6) return false;
  sockaddr_in6 ipv6{};
  std::memcpy(&ipv6, address, sizeof ipv6);
  return IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr);
}

/// Whether other hosts can use this name: Debian lets a host's own name mean 127.0.1.1 on it.
bool resolves_for_others(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (is_loopback(one->ai_addr)) return false;
  }
  return true;
}

/// The first IPv4 address of an interface that is up.
std::optional<std::string> interface_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || is_loopback(one->ifa_addr)) continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return text.data();
  }
  return std::nullopt;
}

bool is_free(int port) {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  const auto* generic =
      reinterpret_cast<const sockaddr*>(&address);  // NOLINT: how bind(2) is called
  return listener.get() >= 0 && ::bind(listener.get(), generic, sizeof address) == 0;
}

}  // namespace

NodeName own_node_name(const Environment& environment) {
  constexpr std::size_t name_bytes = 256;
  NodeName name;
  std::array<char, name_bytes> host{};
  name.host = ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "localhost";
  name.node = variable(environment, "SLURMD_NODENAME").value_or("");
  if (name.node.empty()) name.node = name.host;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name.machine;
  std::error_code failure;
  name.machine += std::filesystem::read_symlink("/proc/self/ns/net", failure).string();
  return name;
}

std::string master_address(const std::vector<NodeName>& nodes) {
  const bool is_one_machine = std::all_of(nodes.begin(), nodes.end(), [&](const NodeName& other) {
    return !other.machine.empty() && other.machine == nodes.front().machine;
  });
  if (nodes.size() == 1 || is_one_machine) return loopback;
  for (const std::string& name : {nodes.front().node, nodes.front().host}) {
    if (resolves_for_others(name)) return name;
  }
  return interface_address().value_or(nodes.front().node);
}

std::pair<int, int> ephemeral_ports() {
  constexpr std::pair<int, int> of_linux{32'768, 60'999};
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  std::pair<int, int> range;
  if (!(file >> range.first >> range.second)) return of_linux;
  return range;
}

Expected<int> free_port(std::uint64_t draw) {
  constexpr int tries_max = 2'000;
  const auto [first, last] = ephemeral_ports();
  std::vector<int> candidates;
  for (int port = port_lowest; port <= port_highest; ++port) {
    if (port < first || port > last) candidates.push_back(port);
  }
  // A host may give all ports to clients; then none is safe, and the upper ones are as good as any.
  for (int port = port_lowest; candidates.empty() && port <= port_highest; ++port) {
    candidates.push_back(port);
  }
  for (std::size_t i = 0; i < tries_max; ++i) {
    const int port = candidates[(draw + i) % candidates.size()];
    if (is_free(port)) return port;
  }
  return unavailable(
      fmt::format("no free TCP port for MASTER_PORT below {} or above {}", first, last));
}

}  // namespace slurmtune
