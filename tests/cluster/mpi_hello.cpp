// SPDX-License-Identifier: MIT
//
// mpi_hello: where does each rank run, and does an allreduce over all of them give the right sum?
// Prints one line a rank, in rank order, and one verdict.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <mpi.h>
#include <unistd.h>

namespace {

constexpr int line_bytes = 160;

std::string describe(int rank, int size, int local_size) {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  const char* node = std::getenv("SLURMD_NODENAME");
  return "rank " + std::to_string(rank) + "/" + std::to_string(size) + " host " + host.data() +
         " node " + (node != nullptr ? node : "-") + ", " + std::to_string(local_size) +
         " ranks share memory";
}

// Of `count` doubles: small ones are sent at once, large ones by MPI's rendezvous protocol.
bool allreduce_is_right(int rank, int size, int count) {
  std::vector<double> in(static_cast<std::size_t>(count), rank + 1.0);
  std::vector<double> out(in.size());
  MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double wanted = size * (size + 1) / 2.0;
  for (const double sum : out) {
    if (sum != wanted) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int local_size = 0;
  MPI_Comm_size(node, &local_size);
  MPI_Comm_free(&node);

  std::string line = describe(rank, size, local_size);
  line.resize(line_bytes, '\0');
  std::vector<char> all(static_cast<std::size_t>(rank == 0 ? size : 0) * line_bytes);
  MPI_Gather(line.data(), line_bytes, MPI_CHAR, all.data(), line_bytes, MPI_CHAR, 0,
             MPI_COMM_WORLD);

  const bool small = allreduce_is_right(rank, size, 1);
  const bool large = allreduce_is_right(rank, size, 1 << 18);
  const int mine = small && large ? 1 : 0;
  int everyone = 0;
  MPI_Allreduce(&mine, &everyone, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);

  for (std::size_t at = 0; at < all.size(); at += line_bytes) std::cout << &all[at] << '\n';
  if (rank == 0) {
    std::cout << "allreduce over " << size << " ranks: " << (everyone != 0 ? "ok" : "WRONG")
              << std::endl;
  }
  MPI_Finalize();
  return everyone != 0 ? 0 : 1;
}
