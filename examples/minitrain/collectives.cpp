// SPDX-License-Identifier: MIT
#include "collectives.hpp"

#include <vector>

namespace minitrain {
namespace {

/// Values where MPI can reach them: themselves, or a copy on the host.
class Staged {
 public:
  Staged(Device& device, std::span<float> values) : device_{device}, values_{values} {
    if (device.memory_is_host()) return;
    copy_.resize(values.size());
    device.download(values, copy_.data());
  }
  [[nodiscard]] float* data() { return copy_.empty() ? values_.data() : copy_.data(); }
  /// Brings the first `count` values back.
  void give_back(std::size_t count) {
    if (!copy_.empty()) device_.upload(std::span(copy_).first(count), values_.data());
  }

 private:
  Device& device_;
  std::span<float> values_;
  std::vector<float> copy_;
};

}  // namespace

void sum_over_ranks(Device& device, const Ranks& ranks, std::span<float> values) {
  Staged staged(device, values);
  MPI_Allreduce(MPI_IN_PLACE, staged.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                ranks.communicator);
  staged.give_back(values.size());
}

void sum_own_section(Device& device, const Ranks& ranks, std::span<float> values) {
  const std::size_t section = values.size() / ranks.size();
  Staged staged(device, values);
  // In place, the result begins the receive buffer on every rank.
  MPI_Reduce_scatter_block(MPI_IN_PLACE, staged.data(), static_cast<int>(section), MPI_FLOAT,
                           MPI_SUM, ranks.communicator);
  staged.give_back(section);
}

void gather_sections(Device& device, const Ranks& ranks, std::span<float> values) {
  const std::size_t section = values.size() / ranks.size();
  Staged staged(device, values);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, staged.data(), static_cast<int>(section),
                MPI_FLOAT, ranks.communicator);
  staged.give_back(values.size());
}

void gather_into(Device& device, const Ranks& ranks, std::span<const float> own, Places places,
                 float* whole) {
  const auto count = static_cast<int>(own.size());
  if (!device.memory_is_host()) {
    std::vector<float> mine(own.size());
    std::vector<float> all(own.size() * ranks.size());
    device.download(own, mine.data());
    MPI_Allgather(mine.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, ranks.communicator);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      device.upload(std::span(all).subspan(rank * own.size(), own.size()),
                    whole + places.first + rank * places.stride);
    }
    return;
  }
  const std::vector<int> counts(ranks.size(), count);
  std::vector<int> offsets(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    offsets[rank] = static_cast<int>(places.first + rank * places.stride);
  }
  MPI_Allgatherv(own.data(), count, MPI_FLOAT, whole, counts.data(), offsets.data(), MPI_FLOAT,
                 ranks.communicator);
}

}  // namespace minitrain
