// SPDX-License-Identifier: MIT
#include "slurmtune/runner/rank_group.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

namespace slurmtune {

namespace {

constexpr int message_tag = 1;
constexpr std::size_t name_bytes = 256;

/// Whether mpirun, or srun with an MPI plug-in, started us.
bool launched_by_mpi(const Environment& environment) {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return environment.contains(name); });
}

std::vector<std::string> gather(const std::string& own, int size) {
  std::array<char, name_bytes> mine{};
  own.copy(mine.data(), mine.size() - 1);
  std::vector<char> all(name_bytes * static_cast<std::size_t>(size));
  MPI_Allgather(mine.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR,
                MPI_COMM_WORLD);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); i += name_bytes) names.emplace_back(&all[i]);
  return names;
}

std::vector<NodeName> gather_names(const NodeName& own, int size) {
  const auto nodes = gather(own.node, size);
  const auto hosts = gather(own.host, size);
  const auto machines = gather(own.machine, size);
  std::vector<NodeName> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) names.push_back({nodes[i], hosts[i], machines[i]});
  return names;
}

/// The number of tasks of the job step that srun started, if it did.
int tasks_of_step(const Environment& environment) {
  const auto tasks = variable(environment, "SLURM_STEP_NUM_TASKS");
  return tasks ? std::max(1, std::atoi(tasks->c_str())) : 1;
}

}  // namespace

struct RankGroup::Outbox {
  // A list: what MPI reads from must not move.
  std::list<std::pair<std::string, MPI_Request>> sending;

  void let_go_of_sent() {
    sending.remove_if([](auto& one) {
      int is_sent = 0;
      MPI_Test(&one.second, &is_sent, MPI_STATUS_IGNORE);
      return is_sent != 0;
    });
  }
};

Expected<RankGroup> RankGroup::join(const Environment& environment) {
  RankGroup group;
  group.by_mpi_ = launched_by_mpi(environment);
  if (group.by_mpi_) {
    // No overwriting: what the user chose counts.
    ::setenv("OMPI_MCA_btl", "self,tcp", 0);
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return unavailable("MPI cannot be started");
    MPI_Comm_rank(MPI_COMM_WORLD, &group.rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &group.size_);
    group.nodes_ = gather_names(own_node_name(environment), group.size_);
  } else {
    group.nodes_ = {own_node_name(environment)};
  }
  const int tasks = tasks_of_step(environment);
  if (tasks > 1 && group.size_ == 1) {
    return unavailable(fmt::format(
        "srun started {} runners that MPI does not join: start them with srun --mpi=pmix, or what "
        "else this cluster's MPI wants (site key runner_launch; srun --mpi=list)",
        tasks));
  }
  return group;
}

RankGroup::RankGroup() : outbox_(std::make_unique<Outbox>()) {}

RankGroup::RankGroup(RankGroup&& other) noexcept
    : by_mpi_(std::exchange(other.by_mpi_, false)),
      rank_(other.rank_),
      size_(other.size_),
      nodes_(std::move(other.nodes_)),
      to_self_(std::move(other.to_self_)),
      outbox_(std::move(other.outbox_)) {}

RankGroup::~RankGroup() {
  if (!by_mpi_) return;
  for (auto& [bytes, request] : outbox_->sending) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
}

void RankGroup::send(int to, const Words& words) {
  if (to == rank_) {
    to_self_.push_back({rank_, words});
    return;
  }
  outbox_->let_go_of_sent();
  auto& [bytes, request] = outbox_->sending.emplace_back(pack(words), MPI_REQUEST_NULL);
  MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, message_tag, MPI_COMM_WORLD,
            &request);
}

std::size_t RankGroup::backlog_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [message, request] : outbox_->sending) bytes += message.size();
  return bytes;
}

std::optional<PacketLink::Packet> RankGroup::receive() {
  if (!to_self_.empty()) {
    Packet packet = std::move(to_self_.front());
    to_self_.pop_front();
    return packet;
  }
  if (size_ == 1) return std::nullopt;
  outbox_->let_go_of_sent();
  int is_there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, message_tag, MPI_COMM_WORLD, &is_there, &status);
  if (is_there == 0) return std::nullopt;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::string bytes(static_cast<std::size_t>(count), '\0');
  MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, message_tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  auto words = unpack(bytes);
  SLURMTUNE_ASSERT(words.has_value());  // MPI does not cut messages
  return Packet{status.MPI_SOURCE, std::move(*words)};
}

}  // namespace slurmtune
