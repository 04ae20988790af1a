// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/go_message.hpp"

#include <string>
#include <utility>

namespace slurmtune {

Words to_words(const Go& go) {
  Words words{"go"};
  for (std::string& word : to_words(go.question)) words.push_back(std::move(word));
  for (const LanePlace& place : go.places) {
    words.push_back(std::to_string(place.share));
    words.push_back(std::to_string(place.shares));
    Words ranks;
    for (const int rank : place.ranks) ranks.push_back(std::to_string(rank));
    append_list(words, ranks);
  }
  return words;
}

Go read_go(WordReader& words) {
  Go go;
  go.question = read_node_question(words);
  while (!words.rest().empty()) {
    LanePlace place;
    place.share = static_cast<int>(words.integer());
    place.shares = static_cast<int>(words.integer());
    for (const std::string& rank : words.list()) place.ranks.push_back(std::stoi(rank));
    go.places.push_back(std::move(place));
  }
  return go;
}

}  // namespace slurmtune
