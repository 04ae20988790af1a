// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "slurmtune/runner/lane/lane_layout.hpp"
#include "slurmtune/runner/start/private_caches.hpp"
#include "slurmtune/runner/start/process_spec.hpp"
#include "slurmtune/runner/start/rendezvous.hpp"
#include "slurmtune/runner/start/words.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

TEST_CASE("pack: any bytes come back, and what is cut off is refused", "[runner]") {
  const Words words{"start", "", std::string("a\0b\n", 4), std::string(100'000, 'x')};
  const std::string bytes = pack(words);
  CHECK(unpack(bytes) == words);
  CHECK(unpack("") == Words{});
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{7}, std::size_t{9}, bytes.size() - 1}) {
    CHECK_FALSE(unpack(std::string_view(bytes).substr(0, length)).has_value());
  }
}

TEST_CASE("WordSocket: messages keep their order and bring their descriptors", "[runner]") {
  auto pair = WordSocket::make_pair();
  REQUIRE(pair.has_value());
  auto pipe = make_pipe();
  REQUIRE(pipe.has_value());
  CHECK(pair->ours.send(Words{"one"}));
  CHECK(pair->ours.send(Words{"two", std::string(50'000, 'y')}, pipe->write_end.get()));
  CHECK(pair->ours.send(Words{"three"}));
  CHECK(pair->theirs.read_ready());
  CHECK(pair->theirs.next()->words == Words{"one"});
  const auto two = pair->theirs.next();
  CHECK(two->words.at(1).size() == 50'000);
  REQUIRE(two->descriptor.get() >= 0);
  CHECK(::write(two->descriptor.get(), "z", 1) == 1);
  char got = 0;
  CHECK(::read(pipe->read_end.get(), &got, 1) == 1);
  CHECK(got == 'z');
  CHECK(pair->theirs.next()->words == Words{"three"});
  CHECK_FALSE(pair->theirs.next().has_value());
  pair->ours = WordSocket();
  CHECK_FALSE(pair->theirs.read_ready());
  CHECK_FALSE(pair->theirs.send(Words{"nobody"}));
}

TEST_CASE("ProcessSpec and NodeEvent: what is told is what was meant", "[runner]") {
  const ProcessSpec spec{
      {"train", "a b", "$x\n*"}, {{"A", "1=2"}, {"B", ""}}, "/w", RemoteEnding::interrupt, {0, 3}};
  const Words words = to_words(spec);
  WordReader reader(words);
  const ProcessSpec read = read_process_spec(reader);
  CHECK(read.argv == spec.argv);
  CHECK(read.environment == spec.environment);
  CHECK(read.workdir == spec.workdir);
  CHECK(read.remote == spec.remote);
  CHECK(read.cpus == spec.cpus);

  NodeEvent event{NodeEvent::Kind::ended, 2, "text", {std::nullopt, 9, 1e9}, 4};
  const Words told = to_words(event);
  WordReader back(told);
  const NodeEvent heard = read_node_event(back);
  CHECK(heard.kind == event.kind);
  CHECK(heard.index == 2);
  CHECK_FALSE(heard.end.exit_code.has_value());
  CHECK(heard.end.signal == 9);
  CHECK(heard.end.peak_bytes == 1e9);
  CHECK(heard.oom_kills == 4);
}

TEST_CASE("lay_out_lanes: groups of nodes, or parts of nodes, and never more than there are",
          "[runner]") {
  const auto two = lay_out_lanes(2, 2, 4);
  REQUIRE(two.size() == 2);
  CHECK(two[0].ranks == std::vector<int>{0, 1});
  CHECK(two[1].ranks == std::vector<int>{2, 3});
  CHECK(lay_out_lanes(4, 2, 5).size() == 2);                           // a fifth node stays idle
  CHECK(lay_out_lanes(1, 4, 1).front().ranks == std::vector<int>{0});  // without Slurm

  const auto shared = lay_out_lanes(5, 1, 2);
  REQUIRE(shared.size() == 5);
  std::vector<int> shares(2, 0);
  for (const LanePlace& place : shared) {
    const auto node = static_cast<std::size_t>(place.ranks.front());
    CHECK(place.share == shares[node]++);
    CHECK(place.shares == (node == 0 ? 3 : 2));
  }
}

TEST_CASE("part_of: the parts are all of it, each thing once", "[runner]") {
  const std::vector<std::string> list{"0", "1", "2", "3", "4"};
  for (int shares = 1; shares <= 5; ++shares) {
    std::vector<std::string> all;
    for (int share = 0; share < shares; ++share) {
      const auto part = part_of(list, share, shares);
      CHECK_FALSE(part.empty());
      all.insert(all.end(), part.begin(), part.end());
    }
    CHECK(all == list);
  }
}

TEST_CASE("limit_devices: a lane that shares its node sees its part of the GPUs", "[runner]") {
  const LanePlace second{{0}, 1, 2};
  Environment environment{{"CUDA_VISIBLE_DEVICES", "2,3,GPU-a,GPU-b"}};
  limit_devices(environment, second);
  CHECK(environment.at("CUDA_VISIBLE_DEVICES") == "GPU-a,GPU-b");
  environment = {{"SLURM_GPUS_ON_NODE", "4"}};
  limit_devices(environment, second);
  CHECK(environment.at("CUDA_VISIBLE_DEVICES") == "2,3");
  environment = {{"ROCR_VISIBLE_DEVICES", "0,1"}};
  limit_devices(environment, LanePlace{{0}, 0, 1});
  CHECK(environment.at("ROCR_VISIBLE_DEVICES") == "0,1");
  environment = {};
  limit_devices(environment, second);
  CHECK(environment.empty());
}

TEST_CASE("master_address: one machine meets on its loopback, others by a name that resolves",
          "[runner]") {
  const NodeName a{"n1", "localhost", "boot1"};
  CHECK(master_address({a}) == "127.0.0.1");
  CHECK(master_address({a, {"n2", "n2", "boot1"}}) == "127.0.0.1");
  // Names that mean this machine's loopback are of no use to another one.
  const std::string address = master_address({a, {"n2", "n2", "boot2"}});
  CHECK(address != "127.0.0.1");
  CHECK(address != "localhost");
}

TEST_CASE("free_port: outside the range that the system serves clients from", "[runner]") {
  const auto [first, last] = ephemeral_ports();
  for (const std::uint64_t draw : {0ULL, 1ULL, 12'345'678'901ULL}) {
    const auto port = free_port(draw);
    REQUIRE(port.has_value());
    CHECK((*port < first || *port > last));
  }
}

TEST_CASE("PrivateCaches: directories of the job, the user's own stay, and all goes at the end",
          "[runner]") {
  const TemporaryDirectory place;
  const std::string mine = place.path().string();
  std::filesystem::path made;
  {
    PrivateCaches caches({{"TMPDIR", mine}, {"SLURM_JOB_ID", "7"}});
    Environment environment{{"TRITON_CACHE_DIR", "/home/me/.triton"}};
    CHECK(std::filesystem::is_empty(place.path()));
    caches.add_to(environment);
    CHECK(environment.at("TRITON_CACHE_DIR") == "/home/me/.triton");
    made = std::filesystem::path(environment.at("TORCH_EXTENSIONS_DIR")).parent_path();
    CHECK(made.parent_path() == place.path());
    CHECK(std::filesystem::is_directory(made));
  }
  CHECK_FALSE(std::filesystem::exists(made));
  PrivateCaches nowhere({{"TMPDIR", "/proc/no/such"}, {"SLURM_JOB_ID", "7"}});
  Environment environment;
  nowhere.add_to(environment);
  CHECK(environment.empty());
}

}  // namespace slurmtune
