// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <mpi.h>

#include "device_plugin.hpp"
#include "ds_config.hpp"
#include "memory.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "report.hpp"
#include "trainer.hpp"

namespace minitrain {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_invalid_input = 2;

/// The rank that the launcher gave us, before MPI is there to be asked. Messages about the
/// command line come from one rank only.
bool speaks_for_all() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

Expected<std::string> read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    return tl::unexpected(fmt::format("{}: cannot be opened: {}", name, std::strerror(errno)));
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return tl::unexpected(fmt::format("{}: cannot be read", name));
  return text;
}

/// Lets all ranks know whether any of them has a problem; the first that has one says so. Without
/// this, a file that one node cannot read would leave the others waiting for ever.
bool all_well(const std::string& problem, const Ranks& ranks) {
  const int mine = problem.empty() ? ranks.count : ranks.rank;
  int first = mine;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, ranks.communicator);
  if (first == ranks.rank) fmt::print(stderr, "minitrain: {}\n", problem);
  return first == ranks.count;
}

/// All ranks go down at once: the others may be waiting in a collective.
[[noreturn]] void abort_all(const Ranks& ranks, const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
  std::fflush(stdout);
  MPI_Abort(ranks.communicator, exit_failure);
  std::_Exit(exit_failure);
}

int write_model_info(Trainer& trainer, const DsConfig& config, const Ranks& ranks) {
  const std::uint64_t activation_bytes = trainer.measure_activation_bytes();
  std::string problem;
  if (ranks.rank == 0) {
    std::ofstream file(*config.model_info_path, std::ios::binary | std::ios::trunc);
    file << render_model_info(trainer.parameters(), activation_bytes);
    file.close();
    if (!file) problem = fmt::format("{}: cannot be written", *config.model_info_path);
  }
  return all_well(problem, ranks) ? 0 : exit_failure;
}

/// This rank's place among those of its node.
int local_rank(const Ranks& ranks) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(ranks.communicator, MPI_COMM_TYPE_SHARED, ranks.rank, MPI_INFO_NULL, &node);
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

/// The GPU that the options ask for; none = the processor. Errors: there is none, and it is a must.
Expected<std::unique_ptr<Device>> choose_gpu(const Options& options, const Ranks& ranks) {
  if (options.device == DeviceKind::cpu) return std::unique_ptr<Device>();
  auto device = load_cuda_device(local_rank(ranks));
  if (device || options.device == DeviceKind::cuda) return device;
  return std::unique_ptr<Device>();
}

int train(const Options& options, const DsConfig& config, const Ranks& ranks) {
  const auto gpu = choose_gpu(options, ranks);
  if (!all_well(gpu ? "" : "--device cuda: " + gpu.error(), ranks)) return exit_failure;
  Device& device = *gpu ? **gpu : cpu_device();
  DeviceMemory memory(options.memory_limit_bytes, device);
  Trainer trainer(options, config, ranks, memory);
  if (config.model_info_path) return write_model_info(trainer, config, ranks);

  const char* metrics = ranks.rank == 0 ? std::getenv("SLURMTUNE_METRICS") : nullptr;
  const auto capacity_bytes =
      options.memory_limit_bytes ? options.memory_limit_bytes : device.capacity_bytes();
  const RunFacts facts = {trainer.parameters(), capacity_bytes, device.name()};
  auto report = Report::open(config, facts, metrics == nullptr ? "" : metrics);
  if (!all_well(report ? "" : report.error(), ranks)) return exit_failure;
  if (ranks.rank == 0) report->begin(ranks.size());
  for (std::uint64_t step = 1; step <= options.steps; ++step) {
    const StepOutcome outcome = trainer.train_step(step);
    if (ranks.rank != 0) continue;
    const auto reported = report->step(outcome);
    if (!reported) abort_all(ranks, "minitrain: " + reported.error());
  }
  if (ranks.rank == 0) report->end();
  return 0;
}

int run(const Options& options, const Ranks& ranks) {
  const std::string& file = options.ds_config_file;
  const auto config = read_file(file).and_then(
      [&](const std::string& text) { return parse_ds_config(text, file, ranks.size()); });
  if (!all_well(config ? "" : config.error(), ranks)) return exit_invalid_input;
  try {
    return train(options, *config, ranks);
  } catch (const OutOfMemoryError& error) {
    abort_all(ranks, fmt::format("minitrain.OutOfMemoryError: {}", error.what()));
  } catch (const std::runtime_error& error) {
    abort_all(ranks, fmt::format("minitrain.DeviceError: {}", error.what()));
  }
}

/// For trial.dry_start of slurmtune: one process that stands for WORLD_SIZE, without MPI.
int dry_run(const Options& options) {
  const char* world = std::getenv("WORLD_SIZE");
  const long ranks = world == nullptr ? 1 : std::strtol(world, nullptr, 10);
  const std::string& file = options.ds_config_file;
  const auto config = read_file(file).and_then([&](const std::string& text) {
    return parse_ds_config(text, file, ranks > 0 ? static_cast<std::size_t>(ranks) : 1);
  });
  if (!config) {
    fmt::print(stderr, "minitrain: {}\n", config.error());
    return exit_invalid_input;
  }
  fmt::print(
      "{{\"ds_config\":{{\"train_batch_size\":{},\"train_micro_batch_size_per_gpu\":{},"
      "\"gradient_accumulation_steps\":{},\"zero_optimization\":{{\"stage\":{}}}}}}}\n",
      config->batch.global, config->batch.micro, config->batch.accumulation, config->zero.stage);
  return 0;
}

}  // namespace
}  // namespace minitrain

int main(int argc, char** argv) {
  const minitrain::Invocation invocation = minitrain::parse_command_line(argc, argv);
  if (invocation.exit_code) {
    std::FILE* stream = *invocation.exit_code == 0 ? stdout : stderr;
    if (minitrain::speaks_for_all()) fmt::print(stream, "{}", invocation.text);
    return *invocation.exit_code;
  }
  if (invocation.options.dry_run) return minitrain::dry_run(invocation.options);
  MPI_Init(&argc, &argv);
  minitrain::Ranks ranks{MPI_COMM_WORLD, 0, 1};
  MPI_Comm_rank(ranks.communicator, &ranks.rank);
  MPI_Comm_size(ranks.communicator, &ranks.count);
  const int exit_code = minitrain::run(invocation.options, ranks);
  MPI_Finalize();
  return exit_code;
}
