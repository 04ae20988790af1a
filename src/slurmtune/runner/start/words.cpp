// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/words.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace slurmtune {

namespace {

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr char with_descriptor = 'd';
constexpr char without_descriptor = '-';
constexpr std::size_t head_bytes = 1 + length_bytes;  ///< of a message: a mark and its length

void append_length(std::string& bytes, std::uint64_t length) {
  std::array<char, length_bytes> raw{};
  std::memcpy(raw.data(), &length, raw.size());
  bytes.append(raw.data(), raw.size());
}

std::uint64_t length_at(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  return length;
}

void wait_until(int fd, short what) {
  pollfd watched{fd, what, 0};
  ::poll(&watched, 1, -1);
}

/// Sends the first bytes, with the descriptor among them.
ssize_t send_some(int socket, std::string_view bytes, int descriptor) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};  // sendmsg(2) does not write there
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

}  // namespace

std::string pack(std::span<const std::string> words) {
  std::string bytes;
  for (const std::string& word : words) {
    append_length(bytes, word.size());
    bytes += word;
  }
  return bytes;
}

Expected<Words> unpack(std::string_view bytes) {
  Words words;
  while (!bytes.empty()) {
    if (bytes.size() < length_bytes) return corrupt_data("a message between runners is cut off");
    const std::uint64_t length = length_at(bytes);
    bytes.remove_prefix(length_bytes);
    if (bytes.size() < length) return corrupt_data("a message between runners is cut off");
    words.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return words;
}

std::string WordReader::text() {
  if (words_.empty()) return {};
  std::string word = words_.front();
  words_ = words_.subspan(1);
  return word;
}

long long WordReader::integer() {
  const std::string word = text();
  long long value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

double WordReader::real() {
  const std::string word = text();
  double value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

Words WordReader::list() {
  Words list;
  for (long long count = integer(); count > 0 && !words_.empty(); --count) list.push_back(text());
  return list;
}

void append_list(Words& words, std::span<const std::string> list) {
  words.push_back(std::to_string(list.size()));
  words.insert(words.end(), list.begin(), list.end());
}

Expected<WordSocket::Pair> WordSocket::make_pair() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return unavailable(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  return Pair{WordSocket(Descriptor(ends[0])), WordSocket(Descriptor(ends[1]))};
}

bool WordSocket::send(std::span<const std::string> words, int descriptor) {
  const std::string body = pack(words);
  std::string bytes(1, descriptor >= 0 ? with_descriptor : without_descriptor);
  append_length(bytes, body.size());
  bytes += body;
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent = send_some(socket_.get(), left, descriptor);
    if (sent > 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
      descriptor = -1;
    } else if (errno == EAGAIN) {
      wait_until(socket_.get(), POLLOUT);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool WordSocket::read_ready() {
  constexpr std::size_t chunk_bytes = 65'536;
  std::vector<char> chunk(chunk_bytes);
  for (;;) {
    iovec part{chunk.data(), chunk.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count == 0) return false;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
      descriptors_.emplace_back(descriptor);
    }
    bytes_.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

std::optional<WordSocket::Message> WordSocket::next() {
  if (bytes_.size() < head_bytes) return std::nullopt;
  const std::uint64_t length = length_at(std::string_view(bytes_).substr(1));
  if (bytes_.size() - head_bytes < length) return std::nullopt;
  Message message;
  auto words = unpack(std::string_view(bytes_).substr(head_bytes, length));
  if (words) message.words = std::move(*words);
  if (bytes_.front() == with_descriptor && !descriptors_.empty()) {
    message.descriptor = std::move(descriptors_.front());
    descriptors_.erase(descriptors_.begin());
  }
  bytes_.erase(0, head_bytes + length);
  return message;
}

}  // namespace slurmtune
