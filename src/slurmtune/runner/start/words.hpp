// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/spawn.hpp"

namespace slurmtune {

/// A message between processes of ours: words of any bytes. The first one says what it is about.
using Words = std::vector<std::string>;

/// The words as one string of bytes: each one's length (8 bytes, as this machine orders them: the
/// nodes of a task are alike), then its bytes.
[[nodiscard]] std::string pack(std::span<const std::string> words);

/// The words of `pack`. Errors: corrupt_data.
[[nodiscard]] Expected<Words> unpack(std::string_view bytes);

/// Takes words off the front of a message, one after another.
class WordReader {
 public:
  explicit WordReader(std::span<const std::string> words) : words_(words) {}

  /// The next word, empty after the last one.
  [[nodiscard]] std::string text();
  /// The next word as a number, 0 if it is none.
  [[nodiscard]] long long integer();
  [[nodiscard]] double real();
  /// As many words as the next one says.
  [[nodiscard]] Words list();
  /// All that is left.
  [[nodiscard]] std::span<const std::string> rest() const { return words_; }

 private:
  std::span<const std::string> words_;
};

/// Appends a list that WordReader::list reads.
void append_list(Words& words, std::span<const std::string> list);

/// Messages, and now and then a file descriptor, over a stream socket.
class WordSocket {
 public:
  struct Message {
    Words words;
    Descriptor descriptor;  ///< of the sender, if one came with it
  };

  WordSocket() = default;
  explicit WordSocket(Descriptor socket) : socket_(std::move(socket)) {}

  /// Both ends, close-on-exec. Errors: unavailable.
  struct Pair;
  [[nodiscard]] static Expected<Pair> make_pair();

  /// Waits until all is in the socket. False if the other end is gone.
  bool send(std::span<const std::string> words, int descriptor = -1);
  /// Reads what is there, without waiting. False once the other end is gone and all was taken.
  bool read_ready();
  /// The next whole message among what was read.
  [[nodiscard]] std::optional<Message> next();

  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Gives the socket away.
  [[nodiscard]] Descriptor release() { return std::move(socket_); }

 private:
  Descriptor socket_;
  std::string bytes_;
  std::vector<Descriptor> descriptors_;  ///< in the order of their messages
};

struct WordSocket::Pair {
  WordSocket ours;
  WordSocket theirs;
};

}  // namespace slurmtune
