// SPDX-License-Identifier: MIT
#include "slurmtune/runner/rank_group.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

namespace slurmtune {

namespace {

constexpr int leave_tag = 1;
constexpr std::size_t name_bytes = 256;

/// Whether mpirun, or srun with an MPI plug-in, started us.
bool launched_by_mpi(const Environment& environment) {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return environment.contains(name); });
}

std::string own_node(const Environment& environment) {
  if (const auto name = variable(environment, "SLURMD_NODENAME"); name && !name->empty()) {
    return *name;
  }
  std::array<char, name_bytes> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::vector<std::string> gather_names(const std::string& own, int size) {
  std::array<char, name_bytes> mine{};
  own.copy(mine.data(), mine.size() - 1);
  std::vector<char> all(name_bytes * static_cast<std::size_t>(size));
  MPI_Allgather(mine.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR,
                MPI_COMM_WORLD);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); i += name_bytes) names.emplace_back(&all[i]);
  return names;
}

/// The number of tasks of the job step that srun started, if it did.
int tasks_of_step(const Environment& environment) {
  const auto tasks = variable(environment, "SLURM_STEP_NUM_TASKS");
  return tasks ? std::max(1, std::atoi(tasks->c_str())) : 1;
}

}  // namespace

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
    group.nodes_ = gather_names(own_node(environment), group.size_);
  } else {
    group.nodes_ = {own_node(environment)};
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

RankGroup::RankGroup(RankGroup&& other) noexcept
    : by_mpi_(std::exchange(other.by_mpi_, false)),
      rank_(other.rank_),
      size_(other.size_),
      nodes_(std::move(other.nodes_)) {}

RankGroup::~RankGroup() {
  if (by_mpi_) MPI_Finalize();
}

void RankGroup::wait_for_leave() const {
  using namespace std::chrono_literals;
  // Rank 0 hears of the end, too, and decides; this rank must be there until it says so.
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) ::signal(signal, SIG_IGN);
  auto pause = 1ms;
  constexpr auto pause_max = 100ms;
  int there = 0;
  while (there == 0) {
    MPI_Iprobe(0, leave_tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there != 0) break;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::milliseconds>(2 * pause, pause_max);
  }
  MPI_Recv(nullptr, 0, MPI_CHAR, 0, leave_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void RankGroup::leave_together() {
  if (!by_mpi_ || size_ == 1) return;
  if (!leads()) return wait_for_leave();
  for (int rank = 1; rank < size_; ++rank) {
    MPI_Send(nullptr, 0, MPI_CHAR, rank, leave_tag, MPI_COMM_WORLD);
  }
}

}  // namespace slurmtune
